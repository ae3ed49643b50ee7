// The vectors and matrices of a Layer, in one order for those who write and those who read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/status.h"
#include "llm/model_config.h"

namespace shoal::llm::internal {

inline std::size_t FeedForwards(const ModelConfig& config) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, config.experts));
}

inline std::size_t LayerPartCount(const ModelConfig& config) {
  return 6U + (config.qkv_bias ? 3U : 0U) + (config.qk_norm ? 2U : 0U) +
         (config.experts > 0 ? 1U : 0U) + 3 * FeedForwards(config);
}

// Calls visit.Vector(name, vector, size) and visit.Matrix(name, matrix, rows, k), with the sizes
// that a layer of this model has, until one fails. `LayerType`: Layer or const Layer. REQUIRES: it
// has FeedForwards(config) experts.
template <class LayerType, class Visitor>
Status VisitLayer(LayerType& layer, const ModelConfig& config, Visitor& visit) {
  const auto dim = static_cast<std::size_t>(config.dim);
  const auto q_dim = static_cast<std::size_t>(config.q_dim());
  const auto kv_dim = static_cast<std::size_t>(config.kv_dim());
  const auto head_dim = static_cast<std::size_t>(config.head_dim);
  SHOAL_RETURN_IF_ERROR(visit.Vector("attention_norm", layer.attention_norm, dim));
  SHOAL_RETURN_IF_ERROR(visit.Matrix("q", layer.q, q_dim, dim));
  SHOAL_RETURN_IF_ERROR(visit.Matrix("k", layer.k, kv_dim, dim));
  SHOAL_RETURN_IF_ERROR(visit.Matrix("v", layer.v, kv_dim, dim));
  SHOAL_RETURN_IF_ERROR(visit.Matrix("output", layer.output, dim, q_dim));
  if (config.qkv_bias) {
    SHOAL_RETURN_IF_ERROR(visit.Vector("q_bias", layer.q_bias, q_dim));
    SHOAL_RETURN_IF_ERROR(visit.Vector("k_bias", layer.k_bias, kv_dim));
    SHOAL_RETURN_IF_ERROR(visit.Vector("v_bias", layer.v_bias, kv_dim));
  }
  if (config.qk_norm) {
    SHOAL_RETURN_IF_ERROR(visit.Vector("q_norm", layer.q_norm, head_dim));
    SHOAL_RETURN_IF_ERROR(visit.Vector("k_norm", layer.k_norm, head_dim));
  }
  SHOAL_RETURN_IF_ERROR(visit.Vector("ffn_norm", layer.ffn_norm, dim));
  if (config.experts > 0) {
    const auto experts = static_cast<std::size_t>(config.experts);
    SHOAL_RETURN_IF_ERROR(visit.Matrix("router", layer.router, experts, dim));
  }
  const auto inner =
      static_cast<std::size_t>(config.experts > 0 ? config.expert_ff_dim : config.ff_dim);
  for (std::size_t e = 0; e < layer.experts.size(); ++e) {
    auto& expert = layer.experts[e];
    const std::string tail = config.experts > 0 ? "." + std::to_string(e) : "";
    SHOAL_RETURN_IF_ERROR(visit.Matrix("gate" + tail, expert.gate, inner, dim));
    SHOAL_RETURN_IF_ERROR(visit.Matrix("up" + tail, expert.up, inner, dim));
    SHOAL_RETURN_IF_ERROR(visit.Matrix("down" + tail, expert.down, dim, inner));
  }
  return {};
}

}  // namespace shoal::llm::internal
