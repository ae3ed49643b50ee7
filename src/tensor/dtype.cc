#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace shoal {
namespace {

// In the order of the enum.
constexpr std::array<DTypeInfo, 5> kTable = {{
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"i8", 1, 1},
    {"i32", 1, 4},
}};

}  // namespace

const DTypeInfo& Info(DType dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  SHOAL_CHECK_LT(row, kTable.size());
  return kTable[row];
}

std::optional<DType> ParseDType(std::string_view name) {
  for (std::size_t row = 0; row < kTable.size(); ++row) {
    if (kTable[row].name == name) return static_cast<DType>(row);
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << Info(dtype).name; }

}  // namespace shoal
