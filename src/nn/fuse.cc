#include <algorithm>
#include <optional>

#include "nn/links.h"

namespace shoal::nn {
namespace {

template <class Def>
const Def* As(const Link& link) {
  return link.layers.size() == 1 ? std::get_if<Def>(&link.layers[0]->op) : nullptr;
}

bool IsPlainRelu(const Link& link) {
  const auto* relu = As<ReluDef>(link);
  return relu != nullptr && relu->negative_slope == 0 && !relu->max.has_value();
}

bool IsChannelScale(const Link& link) {
  const auto* scale = As<ScaleDef>(link);
  return scale != nullptr && link.inputs.size() == 1 && scale->axis == 1 && scale->num_axes == 1;
}

bool IsPlainSum(const Link& link) {
  const auto* sum = As<EltwiseDef>(link);
  return sum != nullptr && sum->operation == EltwiseDef::Operation::kSum &&
         std::all_of(sum->coefficients.begin(), sum->coefficients.end(),
                     [](float c) { return c == 1; });
}

bool IsMaxPooling(const Link& link) {
  const auto* pooling = As<PoolingDef>(link);
  return pooling != nullptr && pooling->method == PoolingDef::Method::kMax;
}

// Fuses links into later ones: a link that was taken in has no layers left.
class Fuser {
 public:
  explicit Fuser(Links& links) : links_(links), consumers_(Consumers(links)) {}

  void Run() {
    // From the back, so that a sum is taken in by the branch that ends last; sums that no branch
    // took in come after all branches.
    for (std::size_t i = links_.links.size(); i-- > 0;) {
      if (As<BatchNormDef>(links_.links[i]) != nullptr) FuseNorm(i);
    }
    for (std::size_t i = 0; i < links_.links.size(); ++i) {
      const Link& link = links_.links[i];
      if (As<ConvolutionDef>(link) != nullptr || As<InnerProductDef>(link) != nullptr ||
          IsPlainSum(link)) {
        FuseRelu(i);
      }
    }
    std::erase_if(links_.links, [](const Link& link) { return link.layers.empty(); });
    consumers_ = Consumers(links_);
    MaskByPooling();
  }

 private:
  // The one link that reads the one output of `link`, if nothing else hangs on it.
  std::optional<std::size_t> Next(std::size_t link) const {
    const Link& from = links_.links[link];
    if (from.outputs.size() != 1 || !from.layers.back()->loss_weights.empty()) return std::nullopt;
    const std::vector<std::size_t>& readers = consumers_[from.outputs[0]];
    if (readers.size() != 1) return std::nullopt;
    return readers[0];
  }

  // Makes `next` stand for `link` and itself, at the place of `next`.
  Link& Take(std::size_t link, std::size_t next, std::vector<std::size_t> inputs) {
    Link& from = links_.links[link];
    Link& to = links_.links[next];
    from.layers.insert(from.layers.end(), to.layers.begin(), to.layers.end());
    to.layers = std::move(from.layers);
    to.relu |= from.relu;
    to.residual |= from.residual;
    from.layers.clear();
    for (const std::size_t value : inputs) {
      std::replace(consumers_[value].begin(), consumers_[value].end(), link, next);
    }
    to.inputs = std::move(inputs);
    return to;
  }

  std::size_t FuseRelu(std::size_t link) {
    const std::optional<std::size_t> next = Next(link);
    if (!next || !IsPlainRelu(links_.links[*next])) return link;
    Take(link, *next, links_.links[link].inputs).relu = true;
    return *next;
  }

  void FuseNorm(std::size_t link) {
    if (const auto next = Next(link); next && IsChannelScale(links_.links[*next])) {
      Take(link, *next, links_.links[link].inputs);
      link = *next;
    }
    if (const auto next = Next(link); next && IsPlainSum(links_.links[*next])) {
      const std::vector<std::size_t>& terms = links_.links[*next].inputs;
      const std::size_t own = links_.links[link].outputs[0];
      if (terms.size() == 2 && terms[0] != terms[1]) {
        const std::size_t other = terms[0] == own ? terms[1] : terms[0];
        Take(link, *next, {links_.links[link].inputs[0], other}).residual = true;
        link = *next;
      }
    }
    FuseRelu(link);
  }

  void MaskByPooling() {
    for (std::size_t i = 0; i < links_.links.size(); ++i) {
      Link& link = links_.links[i];
      if (!link.relu || link.residual) continue;
      const std::optional<std::size_t> next = Next(i);
      if (!next || !IsMaxPooling(links_.links[*next])) continue;
      link.relu_masked_by_pooling = true;
      links_.links[*next].masks_relu = true;
    }
  }

  Links& links_;
  std::vector<std::vector<std::size_t>> consumers_;
};

}  // namespace

void Fuse(Links& links) { Fuser(links).Run(); }

}  // namespace shoal::nn
