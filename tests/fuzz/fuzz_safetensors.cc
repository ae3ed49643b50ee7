// Whatever a safetensors file holds: tensors that lie inside its bytes, and, if it is a checkpoint
// of GPTQ or AWQ, one that can be loaded; or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "llm/hf_model.h"
#include "llm/layer.h"
#include "llm/safetensors.h"

namespace {

using shoal::llm::SafetensorsFile;

// Of a model so small that its file can be made of thin air.
shoal::llm::HfConfig SmallConfig(shoal::llm::Int4Packing packing) {
  shoal::llm::HfConfig config;
  config.model.layers = 1;
  config.model.dim = config.model.head_dim = config.model.ff_dim = 32;
  config.model.heads = config.model.kv_heads = 1;
  config.model.vocab = 1;
  config.model.context = 8;
  config.model.tied_embeddings = true;
  config.int4 = shoal::llm::Int4Format{
      .packing = packing, .group = 32, .zero_offset = 0, .input_groups = true};
  if (packing == shoal::llm::Int4Packing::kAwq) config.int4->input_groups = false;
  return config;
}

void Load(const SafetensorsFile& file, shoal::llm::Int4Packing packing) {
  const shoal::llm::HfConfig config = SmallConfig(packing);
  const auto model = shoal::llm::MakeHfModel("m", config, {&file, 1});
  if (!model.ok()) {
    SHOAL_CHECK(model.status().message().starts_with("m: "));
    return;
  }
  shoal::Serial serial;
  (void)shoal::llm::LoadLayer(model->weights, model->config, 0, serial);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)shoal::llm::ReadSafetensorsIndex(
      "i", std::string_view(reinterpret_cast<const char*>(data), size));
  const auto file = SafetensorsFile::Parse("f", bytes);
  if (!file.ok()) {
    SHOAL_CHECK(file.status().message().starts_with("f: "));
    return 0;
  }
  for (const auto& tensor : file->tensors()) {
    if (tensor.bytes.empty()) continue;
    SHOAL_CHECK(tensor.bytes.data() >= bytes.data());
    SHOAL_CHECK(tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
  }
  Load(*file, shoal::llm::Int4Packing::kGptq);
  Load(*file, shoal::llm::Int4Packing::kAwq);
  return 0;
}
