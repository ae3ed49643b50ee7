#include "llm/hf_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "llm/hf_names.h"
#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

// Of a quantised layer, all but qweight, which leads to the others.
bool IsBesideInt4(std::string_view name) {
  return name.ends_with(".qzeros") || name.ends_with(".scales") || name.ends_with(".g_idx");
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

class Collector {
 public:
  Collector(std::string name, const HfConfig& config)
      : config_(config), weights_(std::move(name)) {}

  Result<ModelWeights> Collect(std::span<const SafetensorsFile> files) {
    for (const SafetensorsFile& file : files) {
      for (const SafetensorsTensor& tensor : file.tensors()) {
        if (by_name_.try_emplace(tensor.name, &tensor).second) continue;
        return Wrong(tensor.name, "is there twice");
      }
    }
    for (const auto& [name, tensor] : by_name_) SHOAL_RETURN_IF_ERROR(Take(*tensor));
    return std::move(weights_);
  }

 private:
  Status Wrong(std::string_view tensor, const std::string& what) const {
    return Status(Code::kCorruption,
                  weights_.name() + ": tensor \"" + std::string(tensor) + "\" " + what);
  }

  Status Take(const SafetensorsTensor& tensor) {
    const std::string_view name = tensor.name;
    if (config_.int4 && IsBesideInt4(name)) return {};
    // A left-over of early versions; and of tied ones, what is never used.
    if (name.ends_with(".rotary_emb.inv_freq")) return {};
    if (config_.model.tied_embeddings && name.starts_with("lm_head.")) return {};
    if (config_.int4 && name.ends_with(".qweight")) return TakeInt4(tensor);
    std::string gguf = GgufNameOf(name);
    // AutoGPTQ writes biases for layers that have none.
    if (config_.int4 && name.ends_with(".bias") && !HasBias(gguf) && AllZero(tensor.bytes)) {
      return {};
    }
    if (!tensor.dtype) return Wrong(name, "has elements of type " + std::string(tensor.type));
    return weights_.Add(std::move(gguf),
                        {.dtype = *tensor.dtype, .shape = tensor.shape, .bytes = tensor.bytes});
  }

  // Whether models of this architecture have such a bias.
  bool HasBias(std::string_view gguf) const {
    return config_.model.architecture == Architecture::kQwen2 &&
           (gguf.ends_with(".attn_q.bias") || gguf.ends_with(".attn_k.bias") ||
            gguf.ends_with(".attn_v.bias"));
  }

  Result<const SafetensorsTensor*> Find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    return Status(Code::kNotFound, weights_.name() + ": has no tensor \"" + name + "\"");
  }

  // The tensor `name` if it is of I32 and has this shape.
  Result<const SafetensorsTensor*> FindWords(const std::string& name, const Shape& shape) const {
    SHOAL_ASSIGN_OR_RETURN(const SafetensorsTensor* found, Find(name));
    if (found->dtype == DType::kI32 && found->shape == shape) return found;
    return Wrong(name, "is " + std::string(found->type) + " " + ToString(found->shape) +
                           "; wanted I32 " + ToString(shape));
  }

  Status TakeInt4(const SafetensorsTensor& tensor) {
    constexpr std::int64_t kPerWord = 8;
    const std::string layer = tensor.name.substr(0, tensor.name.rfind('.'));
    const bool awq = config_.int4->packing == Int4Packing::kAwq;
    if (tensor.dtype != DType::kI32 || tensor.shape.rank() != 2 ||
        tensor.shape.elements() > std::int64_t{1} << 40U) {
      return Wrong(tensor.name, "is " + std::string(tensor.type) + " " + ToString(tensor.shape) +
                                    "; wanted a matrix of I32");
    }
    const std::int64_t k = tensor.shape[0] * (awq ? 1 : kPerWord);
    const std::int64_t rows = tensor.shape[1] * (awq ? kPerWord : 1);
    Int4Matrix matrix;
    matrix.packing = config_.int4->packing;
    matrix.rows = static_cast<std::size_t>(rows);
    matrix.k = static_cast<std::size_t>(k);
    matrix.group = config_.int4->group == 0 ? matrix.k : config_.int4->group;
    if (matrix.group == 0) return Wrong(tensor.name, "is empty");
    matrix.zero_offset = config_.int4->zero_offset;
    matrix.weights = tensor.bytes;
    const auto groups = static_cast<std::int64_t>(matrix.groups());
    SHOAL_ASSIGN_OR_RETURN(const SafetensorsTensor* zeros,
                           FindWords(layer + ".qzeros", {groups, rows / kPerWord}));
    matrix.zeros = zeros->bytes;
    SHOAL_ASSIGN_OR_RETURN(const SafetensorsTensor* scales, Find(layer + ".scales"));
    if (!scales->dtype || scales->shape != Shape{groups, rows}) {
      return Wrong(scales->name, "is " + std::string(scales->type) + " " + ToString(scales->shape) +
                                     "; wanted floats " + ToString(Shape{groups, rows}));
    }
    matrix.scales = scales->bytes;
    matrix.scale_dtype = *scales->dtype;
    if (config_.int4->input_groups) {
      SHOAL_ASSIGN_OR_RETURN(const SafetensorsTensor* input_groups,
                             FindWords(layer + ".g_idx", {k}));
      matrix.input_groups = input_groups->bytes;
    }
    SHOAL_RETURN_IF_ERROR(CheckInt4(weights_.name() + ": " + layer, matrix));
    const DType dtype = BlockTypeOf(matrix);
    return weights_.Add(GgufNameOf(layer + ".weight"),
                        {.dtype = dtype, .shape = {rows, k}, .bytes = {}, .int4 = matrix});
  }

  const HfConfig& config_;
  ModelWeights weights_;
  std::map<std::string_view, const SafetensorsTensor*> by_name_;
};

}  // namespace

Result<HfModel> MakeHfModel(std::string name, const HfConfig& config,
                            std::span<const SafetensorsFile> files) {
  HfModel model;
  model.config = config.model;
  SHOAL_ASSIGN_OR_RETURN(model.weights, Collector(std::move(name), config).Collect(files));
  model.config.qkv_bias = model.weights.Find(LayerTensor(0, "attn_q.bias")) != nullptr;
  SHOAL_RETURN_IF_ERROR(CheckTensors(model.weights, model.config));
  SHOAL_ASSIGN_OR_RETURN(const WeightTensor* embedding, model.weights.Get("token_embd.weight"));
  if (embedding->int4) {
    return Status(Code::kInvalidArgument,
                  model.weights.name() + ": the embedding is quantised; we take it as floats");
  }
  return model;
}

}  // namespace shoal::llm
