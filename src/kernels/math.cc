#include "kernels/math.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/math.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/map-inl.h"
#include "kernels/math-inl.h"
#include "kernels/scalar_lanes.h"

// One type, although this file is compiled once per target.
#ifndef SHOAL_KERNELS_MATH_CC_ONCE_
#define SHOAL_KERNELS_MATH_CC_ONCE_
namespace shoal::kernels {
enum class MathFunction { kExp, kLog, kSin, kCos, kTanh, kSigmoid, kSilu };
}  // namespace shoal::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

template <MathFunction kFunction, class L>
HWY_INLINE typename L::F Evaluate(typename L::F x) {
  if constexpr (kFunction == MathFunction::kExp) return Exp<L>(x);
  if constexpr (kFunction == MathFunction::kLog) return Log<L>(x);
  if constexpr (kFunction == MathFunction::kSin) return Sin<L>(x);
  if constexpr (kFunction == MathFunction::kCos) return Cos<L>(x);
  if constexpr (kFunction == MathFunction::kTanh) return Tanh<L>(x);
  if constexpr (kFunction == MathFunction::kSigmoid) return Sigmoid<L>(x);
  if constexpr (kFunction == MathFunction::kSilu) return Silu<L>(x);
}

// Loop::Run is compiled once per function, so that the choice is made outside of it.
template <class Loop>
void RunLoop(MathFunction function, const float* x, float* y, std::size_t n) {
  switch (function) {
    case MathFunction::kExp:
      return Loop::template Run<MathFunction::kExp>(x, y, n);
    case MathFunction::kLog:
      return Loop::template Run<MathFunction::kLog>(x, y, n);
    case MathFunction::kSin:
      return Loop::template Run<MathFunction::kSin>(x, y, n);
    case MathFunction::kCos:
      return Loop::template Run<MathFunction::kCos>(x, y, n);
    case MathFunction::kTanh:
      return Loop::template Run<MathFunction::kTanh>(x, y, n);
    case MathFunction::kSigmoid:
      return Loop::template Run<MathFunction::kSigmoid>(x, y, n);
    case MathFunction::kSilu:
      return Loop::template Run<MathFunction::kSilu>(x, y, n);
  }
}

#if SHOAL_SIMD

template <MathFunction kFunction>
struct Evaluator {
  HWY_INLINE VectorF32::F operator()(VectorF32::F x) const {
    return Evaluate<kFunction, VectorF32>(x);
  }
};

struct VectorLoop {
  template <MathFunction kFunction>
  static void Run(const float* x, float* y, std::size_t n) {
    Map(Evaluator<kFunction>(), n, y, x);
  }
};

struct PowOp {
  HWY_INLINE VectorF32::F operator()(VectorF32::F x, VectorF32::F y) const {
    return Pow<VectorF32>(x, y);
  }
};

#endif  // SHOAL_SIMD

}  // namespace

#if SHOAL_SIMD
void MapFunction(MathFunction function, const float* x, float* y, std::size_t n) {
  RunLoop<VectorLoop>(function, x, y, n);
}
void MapPow(const float* x, const float* y, float* z, std::size_t n) { Map(PowOp(), n, z, x, y); }
#endif

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

// This pass compiles for what every CPU has, so its templates may run anywhere.
namespace definition = HWY_NAMESPACE;

struct ScalarLoop {
  template <MathFunction kFunction>
  static void Run(const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = definition::Canonical<ScalarF32>(definition::Evaluate<kFunction, ScalarF32>(x[i]));
    }
  }
};

void RefFunction(MathFunction function, const float* x, float* y, std::size_t n) {
  definition::RunLoop<ScalarLoop>(function, x, y, n);
}

void RefPow(const float* x, const float* y, float* z, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    z[i] = definition::Canonical<ScalarF32>(definition::Pow<ScalarF32>(x[i], y[i]));
  }
}

using FunctionKernel = void(MathFunction, const float*, float*, std::size_t);
constexpr Implementation<FunctionKernel> kFunctionTable[] = {
    SHOAL_SIMD_ROWS(FunctionKernel, MapFunction){Target::kRef, &RefFunction}};

using PowKernel = void(const float*, const float*, float*, std::size_t);
constexpr Implementation<PowKernel> kPowTable[] = {
    SHOAL_SIMD_ROWS(PowKernel, MapPow){Target::kRef, &RefPow}};

void Apply(MathFunction function, std::span<const float> x, std::span<float> y, Parallel& parallel,
           Target target) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  FunctionKernel* const run = Choose<FunctionKernel>(kFunctionTable, target);
  ForChunks(x.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    run(function, x.data() + begin, y.data() + begin, end - begin);
  });
}

}  // namespace

void Exp(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kExp, x, y, parallel, target);
}
void Log(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kLog, x, y, parallel, target);
}
void Sin(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kSin, x, y, parallel, target);
}
void Cos(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kCos, x, y, parallel, target);
}
void Tanh(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kTanh, x, y, parallel, target);
}
void Sigmoid(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kSigmoid, x, y, parallel, target);
}
void Silu(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  Apply(MathFunction::kSilu, x, y, parallel, target);
}

void Pow(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target) {
  SHOAL_CHECK_EQ(x.size(), z.size());
  SHOAL_CHECK_EQ(y.size(), z.size());
  PowKernel* const run = Choose<PowKernel>(kPowTable, target);
  ForChunks(x.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    run(x.data() + begin, y.data() + begin, z.data() + begin, end - begin);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
