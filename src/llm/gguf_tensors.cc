#include "llm/gguf_tensors.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace shoal::llm {

Result<GgufTensors> GgufTensors::Make(std::vector<GgufTensor> tensors) {
  GgufTensors result;
  result.tensors_ = std::move(tensors);
  result.by_name_.resize(result.tensors_.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), 0U);
  const auto name_of = [&result](std::uint32_t i) { return result.tensors_[i].name; };
  std::ranges::sort(result.by_name_, {}, name_of);
  const auto twice = std::ranges::adjacent_find(result.by_name_, {}, name_of);
  if (twice == result.by_name_.end()) return result;
  return Status(Code::kCorruption,
                "tensor \"" + std::string(name_of(*twice)) + "\" is there twice");
}

const GgufTensor* GgufTensors::Find(std::string_view name) const {
  const auto name_of = [this](std::uint32_t i) { return tensors_[i].name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  if (found == by_name_.end() || name_of(*found) != name) return nullptr;
  return &tensors_[*found];
}

}  // namespace shoal::llm
