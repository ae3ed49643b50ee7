#include "train/cluster/common_weights.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/elementwise.h"

namespace shoal::train {
namespace {

void CopyTo(std::span<float> to, std::span<const float> from) {
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

CommonWeights::CommonWeights(const nn::GradientPlan& plan, nn::ParamStore& params,
                             Parallel& parallel)
    : plan_(plan), params_(params), parallel_(parallel), values_(plan.floats()) {
  Take();
}

std::span<float> CommonWeights::Part(std::span<float> all, nn::ParamId id) const {
  const nn::Param& param = params_[id];
  return all.subspan(param.gradient_offset, param.spec.layout.elements());
}

void CommonWeights::Take() {
  for (const nn::ParamId id : plan_.order) {
    CopyTo(Part(values_, id), params_.value(id));
  }
}

void CommonWeights::Give() {
  for (const nn::ParamId id : plan_.order) {
    CopyTo(params_.value(id), Part(values_, id));
  }
}

void CommonWeights::Exchange() {
  for (const nn::ParamId id : plan_.order) {
    const std::span<float> common = Part(values_, id);
    std::swap_ranges(common.begin(), common.end(), params_.value(id).begin());
  }
}

void CommonWeights::WriteDrift() {
  for (const nn::ParamId id : plan_.order) {
    const std::span<float> drift = params_.gradient(id);
    CopyTo(drift, params_.value(id));
    kernels::Axpy(-1, Part(values_, id), drift, parallel_);
  }
}

void CommonWeights::ApplyLocal(std::span<const float> mean) {
  SHOAL_CHECK_EQ(mean.size(), values_.size());
  kernels::Add(values_, mean, values_, parallel_);
  Give();
}

void CommonWeights::ApplyElastic(std::span<const float> mean, float alpha, float beta) {
  SHOAL_CHECK_EQ(mean.size(), values_.size());
  for (const nn::ParamId id : plan_.order) {
    kernels::Axpy(-alpha, params_.gradient(id), params_.value(id), parallel_);
  }
  kernels::Axpy(beta, mean, values_, parallel_);
}

}  // namespace shoal::train
