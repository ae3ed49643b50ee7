#include "nn/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/elementwise.h"
#include "kernels/largest_magnitude.h"

namespace shoal::nn {
namespace {

constexpr int kFloatBits = 24;
// Before anything is known: gradients of fresh networks are below 16.
constexpr int kFirstLimit = 4;
// Quanta and limits stay normal floats, and so does what is added to round.
constexpr int kLimitMin = -80, kLimitMax = 80;
// A unit may be 2^2 times what rounds up the largest sum to a power of two.
constexpr int kHeadroom = 2;
// kernels::AddRounded wants a limit of 2^22 quanta at most.
constexpr int kUnitBitsMin = 2;

}  // namespace

ExactSums::ExactSums(const ParamStore& params, std::int64_t units, Parallel& parallel)
    : parallel_(&parallel), limits_(params.size(), kFirstLimit) {
  const auto rounded = std::bit_ceil(static_cast<std::uint64_t>(units));
  unit_bits_ = std::max(std::countr_zero(rounded), kUnitBitsMin);
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[ParamId{i}];
    if (!param.learnable()) continue;
    parts_.push_back({.begin = param.gradient_offset,
                      .end = param.gradient_offset + param.spec.layout.elements(),
                      .param = i});
  }
  std::sort(parts_.begin(), parts_.end(),
            [](const Part& a, const Part& b) { return a.begin < b.begin; });
}

Result<ExactSums> ExactSums::Make(const ParamStore& params, std::int64_t units,
                                  Parallel& parallel) {
  SHOAL_CHECK(units >= 1 && units <= kUnitsMax);
  ExactSums sums(params, units, parallel);
  std::size_t floats = 0;
  for (const Param& param : params.params()) {
    floats = std::max(floats, param.gradient_offset + param.floats());
  }
  SHOAL_ASSIGN_OR_RETURN(sums.sums_, AlignedBuffer::Make(floats * sizeof(float)));
  sums.Clear();
  return sums;
}

std::span<float> ExactSums::sums() {
  return {reinterpret_cast<float*>(sums_.data()), sums_.size() / sizeof(float)};
}

std::span<const float> ExactSums::sums() const {
  return {reinterpret_cast<const float*>(sums_.data()), sums_.size() / sizeof(float)};
}

void ExactSums::Clear() { std::memset(sums_.data(), 0, sums_.size()); }

void ExactSums::Add(std::span<const float> gradients, std::size_t begin, std::size_t end) {
  SHOAL_CHECK(begin <= end && end <= gradients.size() && end <= sums().size());
  auto part = std::partition_point(parts_.begin(), parts_.end(),
                                   [&](const Part& p) { return p.end <= begin; });
  for (; part != parts_.end() && part->begin < end; ++part) {
    const int limit = limits_[part->param];
    const std::size_t from = std::max(begin, part->begin);
    const std::size_t count = std::min(end, part->end) - from;
    kernels::AddRounded(std::ldexp(1.0F, limit), std::ldexp(1.0F, limit + unit_bits_ - kFloatBits),
                        gradients.subspan(from, count), sums().subspan(from, count), *parallel_);
  }
}

void ExactSums::Follow(std::span<const float> all) {
  SHOAL_CHECK_EQ(all.size(), sums().size());
  for (const Part& part : parts_) {
    const float largest = kernels::LargestMagnitude(all.subspan(part.begin, part.end - part.begin));
    // Nothing to follow: no gradient at all, or none that is a number.
    if (!(largest > 0) || !std::isfinite(largest)) continue;
    // It falls slowly: one quiet step says little about the next.
    const int limit = std::max(std::ilogb(largest) + 1 + kHeadroom, limits_[part.param] - 1);
    limits_[part.param] = std::clamp(limit, kLimitMin, kLimitMax);
  }
}

bool ExactSums::AreLimits(std::span<const int> limits) {
  return std::all_of(limits.begin(), limits.end(),
                     [](int limit) { return limit >= kLimitMin && limit <= kLimitMax; });
}

Status ExactSums::SetLimits(std::span<const int> limits) {
  if (limits.size() != limits_.size() || !AreLimits(limits)) {
    return Status(Code::kInvalidArgument,
                  "the limits of exact sums (\"limits\") are not of this network");
  }
  limits_.assign(limits.begin(), limits.end());
  return {};
}

}  // namespace shoal::nn
