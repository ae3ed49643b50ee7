// Whatever a GGUF file holds: a model whose tensors lie inside its bytes and whose metadata survive
// being copied into another file, or a Status.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/dequantize.h"
#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/gguf_writer.h"
#include "llm/model_config.h"

namespace {

using shoal::llm::GgufFile;

void CheckTensors(const GgufFile& file, std::span<const std::byte> bytes) {
  for (const auto& tensor : file.tensors()) {
    SHOAL_CHECK(file.Find(tensor.name) == &tensor);
    if (tensor.bytes.empty()) continue;
    SHOAL_CHECK(tensor.bytes.data() >= bytes.data());
    SHOAL_CHECK(tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
    if (tensor.dtype == shoal::DType::kI8 || tensor.dtype == shoal::DType::kI32) continue;
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    shoal::kernels::Dequantize(tensor.dtype, tensor.bytes, values);
  }
}

void CheckMetadata(const GgufFile& file) {
  shoal::llm::GgufWriter writer;
  for (const auto& entry : file.metadata().entries()) {
    if (entry.key != "general.alignment") writer.Copy(entry);
    (void)file.metadata().GetUnsigned(entry.key);
    (void)file.metadata().GetFloat(entry.key);
    (void)file.metadata().GetBool(entry.key);
    (void)file.metadata().GetString(entry.key);
    (void)file.metadata().GetStrings(entry.key);
    (void)file.metadata().GetIntegers(entry.key);
    (void)file.metadata().GetFloats(entry.key);
  }
  const std::string header = writer.Header();
  const auto again = GgufFile::Parse("again", std::as_bytes(std::span(header)));
  SHOAL_CHECK(again.ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  auto file = GgufFile::Parse("f", bytes);
  if (!file.ok()) return 0;
  CheckTensors(*file, bytes);
  CheckMetadata(*file);
  std::vector<GgufFile> parts;
  parts.push_back(*std::move(file));
  const auto model = shoal::llm::GgufModel::Make(std::move(parts));
  if (model.ok()) (void)shoal::llm::ReadModelConfig(*model);
  return 0;
}
