#include "llm/layer.h"

#include <string>
#include <utility>

#include "kernels/dequantize.h"
#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

// One expert's matrix of a tensor that holds those of all, one after the other.
Result<Matrix> LoadExpert(const GgufTensor& tensor, std::size_t expert, Parallel& parallel) {
  const auto experts = static_cast<std::size_t>(tensor.shape[0]);
  const std::size_t bytes = tensor.bytes.size() / experts;
  return Matrix::Make(tensor.name, tensor.dtype, tensor.bytes.subspan(expert * bytes, bytes),
                      static_cast<std::size_t>(tensor.shape[1]),
                      static_cast<std::size_t>(tensor.shape[2]), parallel);
}

class LayerLoader {
 public:
  LayerLoader(const GgufModel& model, const ModelConfig& config, std::int64_t layer,
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
    SHOAL_ASSIGN_OR_RETURN(const GgufTensor* gate, model_.Get(Name("ffn_gate_exps.weight")));
    SHOAL_ASSIGN_OR_RETURN(const GgufTensor* up, model_.Get(Name("ffn_up_exps.weight")));
    SHOAL_ASSIGN_OR_RETURN(const GgufTensor* down, model_.Get(Name("ffn_down_exps.weight")));
    for (std::size_t e = 0; e < static_cast<std::size_t>(config_.experts); ++e) {
      FeedForward expert;
      SHOAL_ASSIGN_OR_RETURN(expert.gate, LoadExpert(*gate, e, parallel_));
      SHOAL_ASSIGN_OR_RETURN(expert.up, LoadExpert(*up, e, parallel_));
      SHOAL_ASSIGN_OR_RETURN(expert.down, LoadExpert(*down, e, parallel_));
      layer.experts.push_back(std::move(expert));
    }
    return {};
  }

  const GgufModel& model_;
  const ModelConfig& config_;
  std::int64_t layer_;
  Parallel& parallel_;
};

}  // namespace

Result<std::vector<float>> LoadVector(const GgufModel& model, const std::string& name) {
  SHOAL_ASSIGN_OR_RETURN(const GgufTensor* tensor, model.Get(name));
  std::vector<float> values(static_cast<std::size_t>(tensor->shape.elements()));
  kernels::Dequantize(tensor->dtype, tensor->bytes, values);
  return values;
}

Result<Matrix> LoadMatrix(const GgufModel& model, const std::string& name, Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(const GgufTensor* tensor, model.Get(name));
  return Matrix::Make(name, tensor->dtype, tensor->bytes,
                      static_cast<std::size_t>(tensor->shape[0]),
                      static_cast<std::size_t>(tensor->shape[1]), parallel);
}

Result<Layer> LoadLayer(const GgufModel& model, const ModelConfig& config, std::int64_t layer,
                        Parallel& parallel) {
  return LayerLoader(model, config, layer, parallel).Load();
}

}  // namespace shoal::llm
