#include "llm/gguf_writer.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::llm {
namespace {

void AppendNumber(std::uint64_t value, std::size_t size, std::string& out) {
  std::array<std::byte, 8> bytes{};
  wire::StoreLittleEndian(value, std::span(bytes).first(size));
  out.append(reinterpret_cast<const char*>(bytes.data()), size);
}

void AppendString(std::string_view text, std::string& out) {
  AppendNumber(text.size(), 8, out);
  out += text;
}

std::size_t ZerosAfter(std::size_t bytes) {
  return (GgufWriter::kAlignment - bytes % GgufWriter::kAlignment) % GgufWriter::kAlignment;
}

}  // namespace

void GgufWriter::BeginValue(std::string_view key, GgufType type) {
  SHOAL_CHECK(std::find(keys_.begin(), keys_.end(), key) == keys_.end());
  SHOAL_CHECK(key != "general.alignment");
  keys_.emplace_back(key);
  AppendString(key, values_);
  AppendNumber(static_cast<std::uint32_t>(type), 4, values_);
}

void GgufWriter::BeginArray(std::string_view key, GgufType type, std::size_t count) {
  BeginValue(key, GgufType::kArray);
  AppendNumber(static_cast<std::uint32_t>(type), 4, values_);
  AppendNumber(count, 8, values_);
}

void GgufWriter::SetString(std::string_view key, std::string_view value) {
  BeginValue(key, GgufType::kString);
  AppendString(value, values_);
}

void GgufWriter::SetUnsigned(std::string_view key, std::uint32_t value) {
  BeginValue(key, GgufType::kU32);
  AppendNumber(value, 4, values_);
}

void GgufWriter::SetFloat(std::string_view key, float value) {
  BeginValue(key, GgufType::kF32);
  AppendNumber(std::bit_cast<std::uint32_t>(value), 4, values_);
}

void GgufWriter::SetBool(std::string_view key, bool value) {
  BeginValue(key, GgufType::kBool);
  AppendNumber(value ? 1 : 0, 1, values_);
}

void GgufWriter::SetStrings(std::string_view key, std::span<const std::string_view> values) {
  BeginArray(key, GgufType::kString, values.size());
  for (const std::string_view value : values) AppendString(value, values_);
}

void GgufWriter::SetFloats(std::string_view key, std::span<const float> values) {
  BeginArray(key, GgufType::kF32, values.size());
  for (const float value : values) AppendNumber(std::bit_cast<std::uint32_t>(value), 4, values_);
}

void GgufWriter::SetIntegers(std::string_view key, std::span<const std::int32_t> values) {
  BeginArray(key, GgufType::kI32, values.size());
  for (const std::int32_t value : values) {
    AppendNumber(static_cast<std::uint32_t>(value), 4, values_);
  }
}

void GgufWriter::Copy(const GgufEntry& entry) {
  SHOAL_CHECK(std::find(keys_.begin(), keys_.end(), entry.key) == keys_.end());
  SHOAL_CHECK(entry.key != "general.alignment");
  keys_.emplace_back(entry.key);
  AppendString(entry.key, values_);
  const auto encoded = entry.value.encoded;
  values_.append(reinterpret_cast<const char*>(encoded.data()), encoded.size());
}

void GgufWriter::AddTensor(std::string_view name, DType dtype, const Shape& shape) {
  SHOAL_CHECK(std::none_of(tensors_.begin(), tensors_.end(),
                           [&](const Tensor& tensor) { return tensor.name == name; }));
  const auto bytes = ByteSize(dtype, shape);
  SHOAL_CHECK(bytes.ok());
  tensors_.push_back({std::string(name), dtype, shape, *bytes});
}

std::size_t GgufWriter::Padding(std::size_t i) const { return ZerosAfter(tensors_[i].bytes); }

std::string GgufWriter::Header() const {
  std::string out = "GGUF";
  AppendNumber(3, 4, out);
  AppendNumber(tensors_.size(), 8, out);
  AppendNumber(keys_.size(), 8, out);
  out += values_;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    AppendString(tensor.name, out);
    AppendNumber(tensor.shape.rank(), 4, out);
    for (std::size_t axis = tensor.shape.rank(); axis > 0; --axis) {  // Innermost first.
      AppendNumber(static_cast<std::uint64_t>(tensor.shape[axis - 1]), 8, out);
    }
    AppendNumber(GgufIdOf(tensor.dtype), 4, out);
    AppendNumber(offset, 8, out);
    offset += tensor.bytes + Padding(i);
  }
  out.append(ZerosAfter(out.size()), '\0');
  return out;
}

}  // namespace shoal::llm
