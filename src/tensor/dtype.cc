#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace shoal {
namespace {

// In the order of the enum.
constexpr std::array<DTypeInfo, 22> kTable = {{
    {"f32", 1, 4},       {"f16", 1, 2},        {"bf16", 1, 2},       {"i8", 1, 1},
    {"i32", 1, 4},       {"q4_0", 32, 18},     {"q4_1", 32, 20},     {"q5_0", 32, 22},
    {"q5_1", 32, 24},    {"q8_0", 32, 34},     {"q2_K", 256, 84},    {"q3_K", 256, 110},
    {"q4_K", 256, 144},  {"q5_K", 256, 176},   {"q6_K", 256, 210},   {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74}, {"iq2_s", 256, 82},   {"iq3_xxs", 256, 98}, {"iq3_s", 256, 110},
    {"iq4_nl", 32, 18},  {"iq4_xs", 256, 136},
}};

constexpr std::array<DType, kTable.size()> MakeAll() {
  std::array<DType, kTable.size()> all{};
  for (std::size_t row = 0; row < all.size(); ++row) all[row] = static_cast<DType>(row);
  return all;
}
constexpr auto kAll = MakeAll();
static_assert(kAll.back() == DType::kIQ4_XS);  // The table has a row for every type.

}  // namespace

const DTypeInfo& Info(DType dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  SHOAL_CHECK_LT(row, kTable.size());
  return kTable[row];
}

std::span<const DType> AllDTypes() { return kAll; }

std::optional<DType> ParseDType(std::string_view name) {
  for (std::size_t row = 0; row < kTable.size(); ++row) {
    if (kTable[row].name == name) return static_cast<DType>(row);
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << Info(dtype).name; }

}  // namespace shoal
