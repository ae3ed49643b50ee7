#include "kernels/update.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/update.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/reduce.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_UPDATE_ARGS
#define SHOAL_KERNELS_UPDATE_ARGS
namespace shoal::kernels {
namespace {

enum class Rule : std::uint8_t { kSgd, kNesterov, kAdaGrad, kRmsProp, kAdaDelta, kAdam };

struct UpdateArgs {
  Rule rule;
  GradientTerms terms;
  float rate;
  float decay;   // Of h: the momentum, or beta1.
  float decay2;  // Of h2: beta2.
  float delta;
  const float* g;
  float* w;
  float* h;
  float* h2;  // Or null.
};

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_UPDATE_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// decay * h + (1 - decay) * x.
template <class L>
HWY_INLINE typename L::F Mix(float decay, typename L::F h, typename L::F x) {
  return L::Fma(L::Set(decay), h, L::Set(1.0F - decay) * x);
}

// What is subtracted from w; h and h2 are changed.
template <class L, Rule kRule>
HWY_INLINE typename L::F Step(const UpdateArgs& args, typename L::F g, typename L::F& h,
                              typename L::F& h2) {
  using F = typename L::F;
  const F rate = L::Set(args.rate);
  const F decay = L::Set(args.decay);
  const F delta = L::Set(args.delta);
  if constexpr (kRule == Rule::kSgd) {
    h = L::Fma(decay, h, rate * g);
    return h;
  } else if constexpr (kRule == Rule::kNesterov) {
    const F before = h;
    h = L::Fma(decay, h, rate * g);
    return L::Fma(decay, h - before, h);
  } else if constexpr (kRule == Rule::kAdaGrad) {
    h = L::Fma(g, g, h);
    return rate * g / (L::Sqrt(h) + delta);
  } else if constexpr (kRule == Rule::kRmsProp) {
    h = Mix<L>(args.decay, h, g * g);
    return rate * g / (L::Sqrt(h) + delta);
  } else if constexpr (kRule == Rule::kAdaDelta) {
    h = Mix<L>(args.decay, h, g * g);
    const F u = g * L::Sqrt((h2 + delta) / (h + delta));
    h2 = Mix<L>(args.decay, h2, u * u);
    return rate * u;
  } else {
    h = Mix<L>(args.decay, h, g);
    h2 = Mix<L>(args.decay2, h2, g * g);
    return rate * h / (L::Sqrt(h2) + delta);
  }
}

template <class L, Rule kRule>
HWY_INLINE void UpdateBy(const UpdateArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  constexpr bool kTwo = kRule == Rule::kAdaDelta || kRule == Rule::kAdam;
  const F zero = L::Set(0.0F);
  const F scale = L::Set(args.terms.scale);
  const F l2 = L::Set(args.terms.l2);
  const F l1 = L::Set(args.terms.l1);
  AlongRow<L>(end - begin, [&](std::size_t i, auto lanes) SHOAL_LAMBDA {
    const std::size_t at = begin + i;
    const F w = lanes.Load(args.w + at);
    const F sign = L::Select(zero < w, l1, L::Select(w < zero, zero - l1, zero));
    const F g = L::Fma(scale, lanes.Load(args.g + at), L::Fma(l2, w, sign));
    F h = lanes.Load(args.h + at);
    F h2 = zero;
    if constexpr (kTwo) h2 = lanes.Load(args.h2 + at);
    const F step = Step<L, kRule>(args, g, h, h2);
    lanes.Store(w - step, args.w + at);
    lanes.Store(h, args.h + at);
    if constexpr (kTwo) lanes.Store(h2, args.h2 + at);
  });
}

template <class L>
HWY_INLINE void Update(const UpdateArgs& args, std::size_t begin, std::size_t end) {
  switch (args.rule) {
    case Rule::kSgd:
      return UpdateBy<L, Rule::kSgd>(args, begin, end);
    case Rule::kNesterov:
      return UpdateBy<L, Rule::kNesterov>(args, begin, end);
    case Rule::kAdaGrad:
      return UpdateBy<L, Rule::kAdaGrad>(args, begin, end);
    case Rule::kRmsProp:
      return UpdateBy<L, Rule::kRmsProp>(args, begin, end);
    case Rule::kAdaDelta:
      return UpdateBy<L, Rule::kAdaDelta>(args, begin, end);
    case Rule::kAdam:
      return UpdateBy<L, Rule::kAdam>(args, begin, end);
  }
}

}  // namespace

#if SHOAL_SIMD
void SimdUpdate(const UpdateArgs& args, std::size_t begin, std::size_t end) {
  Update<VectorRow>(args, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefUpdate(const UpdateArgs& args, std::size_t begin, std::size_t end) {
  Update<ScalarRow>(args, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using UpdateKernel = void(const UpdateArgs&, std::size_t, std::size_t);
constexpr Implementation<UpdateKernel> kTable[] = {
    SHOAL_SIMD_ROWS(UpdateKernel, SimdUpdate){Target::kRef, &HWY_NAMESPACE::RefUpdate}};

void Run(UpdateArgs args, UpdateArrays arrays, std::span<float> h, std::span<float> h2,
         Parallel& parallel, Target target) {
  SHOAL_CHECK_EQ(arrays.g.size(), arrays.w.size());
  SHOAL_CHECK_EQ(h.size(), arrays.w.size());
  SHOAL_CHECK(h2.data() == nullptr || h2.size() == arrays.w.size());
  args.g = arrays.g.data();
  args.w = arrays.w.data();
  args.h = h.data();
  args.h2 = h2.data();
  UpdateKernel* const kernel = Choose<UpdateKernel>(kTable, target);
  ForChunks(arrays.w.size(), kElementsPerTask, parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

UpdateArgs MakeArgs(Rule rule, const GradientTerms& terms, float rate, float decay, float delta) {
  return {.rule = rule,
          .terms = terms,
          .rate = rate,
          .decay = decay,
          .decay2 = 0,
          .delta = delta,
          .g = nullptr,
          .w = nullptr,
          .h = nullptr,
          .h2 = nullptr};
}

// By multiplication alone: the same on every platform.
double IntegerPower(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

void SgdUpdate(const GradientTerms& terms, float rate, float momentum, UpdateArrays arrays,
               std::span<float> v, Parallel& parallel, Target target) {
  Run(MakeArgs(Rule::kSgd, terms, rate, momentum, 0), arrays, v, {}, parallel, target);
}

void NesterovUpdate(const GradientTerms& terms, float rate, float momentum, UpdateArrays arrays,
                    std::span<float> v, Parallel& parallel, Target target) {
  Run(MakeArgs(Rule::kNesterov, terms, rate, momentum, 0), arrays, v, {}, parallel, target);
}

void AdaGradUpdate(const GradientTerms& terms, float rate, float delta, UpdateArrays arrays,
                   std::span<float> h, Parallel& parallel, Target target) {
  Run(MakeArgs(Rule::kAdaGrad, terms, rate, 0, delta), arrays, h, {}, parallel, target);
}

void RmsPropUpdate(const GradientTerms& terms, float rate, float decay, float delta,
                   UpdateArrays arrays, std::span<float> h, Parallel& parallel, Target target) {
  Run(MakeArgs(Rule::kRmsProp, terms, rate, decay, delta), arrays, h, {}, parallel, target);
}

void AdaDeltaUpdate(const GradientTerms& terms, float rate, float momentum, float delta,
                    UpdateArrays arrays, std::span<float> h, std::span<float> h2,
                    Parallel& parallel, Target target) {
  Run(MakeArgs(Rule::kAdaDelta, terms, rate, momentum, delta), arrays, h, h2, parallel, target);
}

void AdamUpdate(const GradientTerms& terms, float rate, const AdamParams& params,
                UpdateArrays arrays, std::span<float> m, std::span<float> v, Parallel& parallel,
                Target target) {
  const double correction = std::sqrt(1 - IntegerPower(params.beta2, params.step)) /
                            (1 - IntegerPower(params.beta1, params.step));
  UpdateArgs args =
      MakeArgs(Rule::kAdam, terms, static_cast<float>(static_cast<double>(rate) * correction),
               params.beta1, params.delta);
  args.decay2 = params.beta2;
  Run(args, arrays, m, v, parallel, target);
}

double SumOfSquares(std::span<const float> x, Parallel& parallel, Target target) {
  constexpr std::size_t kParts = 64;  // Enough for any number of cores we meet.
  constexpr std::size_t kBlock = 4096;
  std::array<double, kParts> sums{};
  const std::size_t part = std::max<std::size_t>(kBlock, (x.size() + kParts - 1) / kParts);
  ForChunks(x.size(), part, parallel, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; i += kBlock) {
      sum += static_cast<double>(SumOfSquares(x.subspan(i, std::min(kBlock, end - i)), target));
    }
    sums[begin / part] = sum;
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
