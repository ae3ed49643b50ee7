#include "llm/gguf_types.h"

#include <array>
#include <utility>

#include "base/check.h"

namespace shoal::llm {
namespace {

struct ValueRow {
  std::string_view name;
  std::size_t size;
};
// By id.
constexpr std::array<ValueRow, 13> kValues = {{
    {"u8", 1},
    {"i8", 1},
    {"u16", 2},
    {"i16", 2},
    {"u32", 4},
    {"i32", 4},
    {"f32", 4},
    {"bool", 1},
    {"string", 0},
    {"array", 0},
    {"u64", 8},
    {"i64", 8},
    {"f64", 8},
}};

constexpr std::uint32_t kNoFileType = ~0U;
struct TensorRow {
  DType dtype;
  std::uint32_t id;
  std::uint32_t file_type;
};
constexpr std::array<TensorRow, 22> kTensors = {{
    {DType::kF32, 0, 0},
    {DType::kF16, 1, 1},
    {DType::kBF16, 30, 32},
    {DType::kI8, 24, kNoFileType},
    {DType::kI32, 26, kNoFileType},
    {DType::kQ4_0, 2, 2},
    {DType::kQ4_1, 3, 3},
    {DType::kQ5_0, 6, 8},
    {DType::kQ5_1, 7, 9},
    {DType::kQ8_0, 8, 7},
    {DType::kQ2_K, 10, 10},
    {DType::kQ3_K, 11, 12},
    {DType::kQ4_K, 12, 15},
    {DType::kQ5_K, 13, 17},
    {DType::kQ6_K, 14, 18},
    {DType::kIQ2_XXS, 16, 19},
    {DType::kIQ2_XS, 17, 20},
    {DType::kIQ2_S, 22, 28},
    {DType::kIQ3_XXS, 18, 23},
    {DType::kIQ3_S, 21, 26},
    {DType::kIQ4_NL, 20, 25},
    {DType::kIQ4_XS, 23, 30},
}};

// Types that exist and that we do not read: a message can name them.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 15> kOthers = {{
    {9, "Q8_1"},
    {15, "Q8_K"},
    {19, "IQ1_S"},
    {25, "I16"},
    {27, "I64"},
    {28, "F64"},
    {29, "IQ1_M"},
    {31, "Q4_0_4_4, withdrawn"},
    {32, "Q4_0_4_8, withdrawn"},
    {33, "Q4_0_8_8, withdrawn"},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
    {41, "Q1_0"},
}};

const TensorRow& Row(DType dtype) {
  const auto row = static_cast<std::size_t>(dtype);
  SHOAL_CHECK_LT(row, kTensors.size());
  SHOAL_CHECK(kTensors[row].dtype == dtype);  // In the order of the enum.
  return kTensors[row];
}

}  // namespace

std::optional<GgufType> GgufTypeFromId(std::uint64_t id) {
  if (id >= kValues.size()) return std::nullopt;
  return static_cast<GgufType>(id);
}

std::string_view Name(GgufType type) { return kValues[static_cast<std::size_t>(type)].name; }
std::size_t FixedSize(GgufType type) { return kValues[static_cast<std::size_t>(type)].size; }

std::optional<DType> DTypeFromGgufId(std::uint64_t id) {
  for (const TensorRow& row : kTensors) {
    if (row.id == id) return row.dtype;
  }
  return std::nullopt;
}

std::uint32_t GgufIdOf(DType dtype) { return Row(dtype).id; }

std::string DescribeTensorType(std::uint64_t id) {
  std::string_view name;
  if (const auto dtype = DTypeFromGgufId(id)) name = Info(*dtype).name;
  for (const auto& [other, other_name] : kOthers) {
    if (other == id) name = other_name;
  }
  const std::string number = std::to_string(id);
  return name.empty() ? number : number + " (" + std::string(name) + ")";
}

std::optional<std::uint32_t> GgufFileType(DType dtype) {
  const std::uint32_t file_type = Row(dtype).file_type;
  if (file_type == kNoFileType) return std::nullopt;
  return file_type;
}

}  // namespace shoal::llm
