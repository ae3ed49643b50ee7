#include "llm/quantize_plan.h"

#include <array>

#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

constexpr std::array<Mixture, 10> kMixtures = {{
    {"F16", DType::kF16, DType::kF16, DType::kF16, 1},
    {"BF16", DType::kBF16, DType::kBF16, DType::kBF16, 32},
    {"Q8_0", DType::kQ8_0, DType::kQ8_0, DType::kQ8_0, 7},
    {"Q6_K", DType::kQ6_K, DType::kQ6_K, DType::kQ6_K, 18},
    {"Q5_K_M", DType::kQ5_K, DType::kQ6_K, DType::kQ6_K, 17},
    {"Q5_1", DType::kQ5_1, DType::kQ6_K, DType::kQ5_1, 9},
    {"Q5_0", DType::kQ5_0, DType::kQ6_K, DType::kQ5_0, 8},
    {"Q4_K_M", DType::kQ4_K, DType::kQ6_K, DType::kQ6_K, 15},
    {"Q4_1", DType::kQ4_1, DType::kQ6_K, DType::kQ4_1, 3},
    {"Q4_0", DType::kQ4_0, DType::kQ6_K, DType::kQ4_0, 2},
}};

std::string UpperCase(std::string_view text) {
  std::string upper;
  for (const char c : text) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

double BitsPerWeight(DType dtype) {
  const DTypeInfo& info = Info(dtype);
  return 8.0 * static_cast<double>(info.block_bytes) / static_cast<double>(info.block_elements);
}

// The first and last eighth of the layers, and every third between them: files of a "_M" mixture
// are expected to have more bits there.
bool GetsMoreBits(std::int64_t layer, std::int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

bool IsSensitive(std::string_view name, std::int64_t layers) {
  const auto layer = LayerOfTensor(name);
  if (!layer || !GetsMoreBits(*layer, layers)) return false;
  return name.ends_with(".attn_v.weight") || name.ends_with(".ffn_down.weight") ||
         name.ends_with(".ffn_down_exps.weight");
}

// Small tensors on which every number counts.
bool StaysAsItIs(std::string_view name, const Shape& shape) {
  return shape.rank() < 2 || name.ends_with("_norm.weight") ||
         name.ends_with(".ffn_gate_inp.weight");
}

DType WantedType(std::string_view name, const ModelConfig& config, const Mixture& mixture) {
  const std::string_view output = config.tied_embeddings ? "token_embd.weight" : "output.weight";
  if (name == output) return mixture.output;
  return IsSensitive(name, config.layers) ? mixture.sensitive : mixture.base;
}

// A type with smaller blocks for rows that are not a multiple of 256 (Qwen2.5-0.5B has 896).
DType Fitting(const Shape& shape, DType wanted) {
  if (ByteSize(wanted, shape).ok()) return wanted;
  DType smaller = DType::kF16;
  if (wanted == DType::kQ4_K) smaller = DType::kQ5_0;
  if (wanted == DType::kQ5_K) smaller = DType::kQ5_1;
  if (wanted == DType::kQ6_K) smaller = DType::kQ8_0;
  return ByteSize(smaller, shape).ok() ? smaller : DType::kF16;
}

DType PlannedType(const GgufTensor& tensor, const ModelConfig& config, const Mixture& mixture) {
  if (StaysAsItIs(tensor.name, tensor.shape)) return tensor.dtype;
  const DType wanted = Fitting(tensor.shape, WantedType(tensor.name, config, mixture));
  if (IsQuantized(tensor.dtype) && BitsPerWeight(wanted) >= BitsPerWeight(tensor.dtype)) {
    return tensor.dtype;
  }
  return wanted;
}

// Keys that describe the old file.
bool IsAboutTheFile(std::string_view key) {
  return key == "general.alignment" || key == "general.file_type" ||
         key == "general.quantization_version" || key.starts_with("split.");
}

}  // namespace

Result<Mixture> FindMixture(std::string_view name) {
  const std::string upper = UpperCase(name);
  std::string known;
  for (const Mixture& mixture : kMixtures) {
    if (mixture.name == upper) return mixture;
    known += (known.empty() ? "" : ", ") + std::string(mixture.name);
  }
  return Status(Code::kInvalidArgument,
                "no type of file is called \"" + std::string(name) + "\"; there are " + known);
}

DType TypeIn(const Mixture& mixture, const TensorSpec& tensor, const ModelConfig& config) {
  if (StaysAsItIs(tensor.name, tensor.shape)) return DType::kF32;
  return Fitting(tensor.shape, WantedType(tensor.name, config, mixture));
}

Result<std::vector<PlannedTensor>> PlanQuantization(const GgufModel& model,
                                                    const ModelConfig& config,
                                                    const Mixture& mixture) {
  std::vector<PlannedTensor> plan;
  bool changes = false;
  for (const GgufTensor& tensor : model.tensors()) {
    plan.push_back({&tensor, PlannedType(tensor, config, mixture)});
    changes = changes || plan.back().dtype != tensor.dtype;
  }
  if (changes) return plan;
  return Status(Code::kInvalidArgument, model.name() + ": has no tensor that would be smaller as " +
                                            std::string(mixture.name));
}

GgufWriter QuantizedHeader(const GgufModel& model, const Mixture& mixture,
                           const std::vector<PlannedTensor>& plan) {
  GgufWriter writer;
  for (const GgufEntry& entry : model.metadata().entries()) {
    if (!IsAboutTheFile(entry.key)) writer.Copy(entry);
  }
  writer.SetUnsigned("general.file_type", mixture.file_type);
  writer.SetUnsigned("general.quantization_version", 2);  // The layouts that dtype.h means.
  for (const PlannedTensor& planned : plan) {
    writer.AddTensor(planned.tensor->name, planned.dtype, planned.tensor->shape);
  }
  return writer;
}

}  // namespace shoal::llm
