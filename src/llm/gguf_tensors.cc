#include "llm/gguf_tensors.h"

#include <string>
#include <utility>

namespace shoal::llm {

Result<GgufTensors> GgufTensors::Make(std::vector<GgufTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) names.push_back(tensor.name);
  GgufTensors result;
  result.tensors_ = std::move(tensors);
  result.by_name_ = NameIndex(names);
  if (const auto twice = result.by_name_.Duplicate()) {
    return Status(Code::kCorruption, "tensor \"" + std::string(*twice) + "\" is there twice");
  }
  return result;
}

const GgufTensor* GgufTensors::Find(std::string_view name) const {
  const auto found = by_name_.Find(name);
  return found ? &tensors_[*found] : nullptr;
}

}  // namespace shoal::llm
