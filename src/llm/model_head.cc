#include "llm/model_head.h"

#include "base/check.h"
#include "kernels/convert.h"
#include "kernels/dequantize.h"
#include "llm/layer.h"

namespace shoal::llm {

Result<ModelHead> ModelHead::Load(const ModelWeights& model, const ModelConfig& config,
                                  Parallel& parallel) {
  ModelHead head;
  SHOAL_ASSIGN_OR_RETURN(head.embedding_, model.Get("token_embd.weight"));
  head.dim_ = static_cast<std::size_t>(config.dim);
  head.epsilon_ = config.rms_eps;
  SHOAL_ASSIGN_OR_RETURN(head.norm_, LoadVector(model, "output_norm.weight"));
  SHOAL_ASSIGN_OR_RETURN(
      head.output_,
      LoadMatrix(model, config.tied_embeddings ? "token_embd.weight" : "output.weight", parallel));
  return head;
}

void ModelHead::Embed(std::span<const std::int32_t> tokens, std::span<std::uint16_t> residual) {
  SHOAL_CHECK_EQ(residual.size(), tokens.size() * dim_);
  Serial serial;
  const std::size_t row_bytes =
      embedding_->bytes.size() / static_cast<std::size_t>(embedding_->shape[0]);
  row_.resize(dim_);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    SHOAL_CHECK(tokens[i] >= 0 && static_cast<std::size_t>(tokens[i]) < vocab());
    const auto token = static_cast<std::size_t>(tokens[i]);
    kernels::Dequantize(embedding_->dtype, embedding_->bytes.subspan(token * row_bytes, row_bytes),
                        row_);
    kernels::F16FromF32(row_, residual.subspan(i * dim_, dim_), serial);
  }
}

void ModelHead::Logits(std::span<const std::uint16_t> residual, std::span<float> logits,
                       Parallel& parallel) {
  SHOAL_CHECK_EQ(residual.size() % dim_, std::size_t{0});
  row_.resize(residual.size());
  kernels::F32FromF16(residual, row_, parallel);
  activations_.AssignNormed(row_, norm_, epsilon_, row_, output_.block(), parallel);
  output_.Apply(activations_, logits, parallel);
}

}  // namespace shoal::llm
