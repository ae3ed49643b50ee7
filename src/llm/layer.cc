#include "llm/layer.h"

#include <string>
#include <utility>

#include "kernels/dequantize.h"
#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

Result<Matrix> MakeMatrix(const ModelWeights& model, std::string_view name, DType dtype,
                          std::span<const std::byte> bytes, std::int64_t rows, std::int64_t k,
                          Parallel& parallel) {
  Result<Matrix> matrix = Matrix::Make(name, dtype, bytes, static_cast<std::size_t>(rows),
                                       static_cast<std::size_t>(k), parallel);
  if (IsQuantized(dtype)) model.Copied(bytes);  // Floats are used as they are.
  return matrix;
}

class LayerLoader {
 public:
  LayerLoader(const ModelWeights& model, const ModelConfig& config, std::int64_t layer,
              Parallel& parallel)
      : model_(model), config_(config), layer_(layer), parallel_(parallel) {}

  Result<Layer> Load() {
    Layer layer;
    SHOAL_RETURN_IF_ERROR(LoadAttention(layer));
    SHOAL_ASSIGN_OR_RETURN(layer.ffn_norm, LoadVector(model_, Name("ffn_norm.weight")));
    if (config_.experts > 0) {
      SHOAL_RETURN_IF_ERROR(LoadExperts(layer));
    } else {
      FeedForward dense;
      SHOAL_ASSIGN_OR_RETURN(dense.gate, Get("ffn_gate.weight"));
      SHOAL_ASSIGN_OR_RETURN(dense.up, Get("ffn_up.weight"));
      SHOAL_ASSIGN_OR_RETURN(dense.down, Get("ffn_down.weight"));
      layer.experts.push_back(std::move(dense));
    }
    return layer;
  }

 private:
  std::string Name(std::string_view name) const { return LayerTensor(layer_, name); }
  Result<Matrix> Get(std::string_view name) const {
    return LoadMatrix(model_, Name(name), parallel_);
  }

  // A tensor of its own, or a part of one that holds those of all experts, one after the other.
  Result<Matrix> GetExpert(const std::string& name, std::size_t expert) const {
    if (config_.separate_experts) return Get(name + "." + std::to_string(expert) + ".weight");
    const std::string all = Name(name + "_exps.weight");
    SHOAL_ASSIGN_OR_RETURN(const WeightTensor* tensor, model_.Get(all));
    const std::size_t bytes = tensor->bytes.size() / static_cast<std::size_t>(tensor->shape[0]);
    return MakeMatrix(model_, all, tensor->dtype, tensor->bytes.subspan(expert * bytes, bytes),
                      tensor->shape[1], tensor->shape[2], parallel_);
  }

  Status LoadAttention(Layer& layer) const {
    SHOAL_ASSIGN_OR_RETURN(layer.attention_norm, LoadVector(model_, Name("attn_norm.weight")));
    SHOAL_ASSIGN_OR_RETURN(layer.q, Get("attn_q.weight"));
    SHOAL_ASSIGN_OR_RETURN(layer.k, Get("attn_k.weight"));
    SHOAL_ASSIGN_OR_RETURN(layer.v, Get("attn_v.weight"));
    SHOAL_ASSIGN_OR_RETURN(layer.output, Get("attn_output.weight"));
    if (config_.qkv_bias) {
      SHOAL_ASSIGN_OR_RETURN(layer.q_bias, LoadVector(model_, Name("attn_q.bias")));
      SHOAL_ASSIGN_OR_RETURN(layer.k_bias, LoadVector(model_, Name("attn_k.bias")));
      SHOAL_ASSIGN_OR_RETURN(layer.v_bias, LoadVector(model_, Name("attn_v.bias")));
    }
    if (config_.qk_norm) {
      SHOAL_ASSIGN_OR_RETURN(layer.q_norm, LoadVector(model_, Name("attn_q_norm.weight")));
      SHOAL_ASSIGN_OR_RETURN(layer.k_norm, LoadVector(model_, Name("attn_k_norm.weight")));
    }
    return {};
  }

  Status LoadExperts(Layer& layer) const {
    SHOAL_ASSIGN_OR_RETURN(layer.router, Get("ffn_gate_inp.weight"));
    for (std::size_t e = 0; e < static_cast<std::size_t>(config_.experts); ++e) {
      FeedForward expert;
      SHOAL_ASSIGN_OR_RETURN(expert.gate, GetExpert("ffn_gate", e));
      SHOAL_ASSIGN_OR_RETURN(expert.up, GetExpert("ffn_up", e));
      SHOAL_ASSIGN_OR_RETURN(expert.down, GetExpert("ffn_down", e));
      layer.experts.push_back(std::move(expert));
    }
    return {};
  }

  const ModelWeights& model_;
  const ModelConfig& config_;
  std::int64_t layer_;
  Parallel& parallel_;
};

}  // namespace

Result<std::vector<float>> LoadVector(const ModelWeights& model, const std::string& name) {
  SHOAL_ASSIGN_OR_RETURN(const WeightTensor* tensor, model.Get(name));
  std::vector<float> values(static_cast<std::size_t>(tensor->shape.elements()));
  kernels::Dequantize(tensor->dtype, tensor->bytes, values);
  return values;
}

Result<Matrix> LoadMatrix(const ModelWeights& model, const std::string& name, Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(const WeightTensor* tensor, model.Get(name));
  if (!tensor->int4) {
    return MakeMatrix(model, name, tensor->dtype, tensor->bytes, tensor->shape[0], tensor->shape[1],
                      parallel);
  }
  // Blocks last only until they are packed: one matrix, not the model, is in memory twice.
  SHOAL_ASSIGN_OR_RETURN(Int4Blocks blocks,
                         MakeBlocks(model.name() + ": " + name, *tensor->int4, parallel));
  model.Copied(tensor->int4->weights);
  const auto rows = static_cast<std::size_t>(tensor->shape[0]);
  const auto k = static_cast<std::size_t>(tensor->shape[1]);
  const std::span<const std::byte> bytes = blocks.blocks.bytes();
  SHOAL_ASSIGN_OR_RETURN(
      kernels::PackedWeights packed,
      blocks.dtype == DType::kQ4_1
          ? kernels::PackedWeights::MakeWithZeros(bytes, rows, k, parallel)
          : kernels::PackedWeights::Make(blocks.dtype, bytes, rows, k, parallel));
  Matrix matrix(std::move(packed));
  matrix.SetInputOrder(std::move(blocks.order));
  return matrix;
}

Result<Layer> LoadLayer(const ModelWeights& model, const ModelConfig& config, std::int64_t layer,
                        Parallel& parallel) {
  return LayerLoader(model, config, layer, parallel).Load();
}

}  // namespace shoal::llm
