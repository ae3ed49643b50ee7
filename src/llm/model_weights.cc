#include "llm/model_weights.h"

#include "base/check.h"

namespace shoal::llm {

Status ModelWeights::Add(std::string tensor, WeightTensor weights) {
  const auto [at, added] = tensors_.try_emplace(std::move(tensor), std::move(weights));
  if (added) return {};
  return Status(Code::kCorruption, name_ + ": tensor \"" + at->first + "\" is there twice");
}

const WeightTensor* ModelWeights::Find(std::string_view tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<const WeightTensor*> ModelWeights::Get(std::string_view tensor) const {
  const WeightTensor* found = Find(tensor);
  if (found != nullptr) return found;
  return Status(Code::kNotFound, name_ + ": has no tensor \"" + std::string(tensor) + "\"");
}

ModelWeights WeightsOf(const GgufModel& model) {
  ModelWeights weights(model.name());
  for (const GgufTensor& tensor : model.tensors()) {
    const Status added =
        weights.Add(std::string(tensor.name),
                    {.dtype = tensor.dtype, .shape = tensor.shape, .bytes = tensor.bytes});
    SHOAL_CHECK(added.ok());  // GgufModel::Make has refused names that are there twice.
  }
  return weights;
}

}  // namespace shoal::llm
