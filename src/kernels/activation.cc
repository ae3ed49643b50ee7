#include "kernels/activation.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_ACTIVATION_ARGS
#define SHOAL_KERNELS_ACTIVATION_ARGS
namespace shoal::kernels {
namespace {

enum class Function : std::uint8_t { kRelu, kSigmoid, kTanh };

struct ActivationArgs {
  Function function;
  ReluParams relu;
  ConstRows x;
  Rows y;
};

struct GradientArgs {
  Function function;
  ReluParams relu;
  ConstRows y;
  ConstRows dy;
  Rows dx;
  bool accumulate;
};

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_ACTIVATION_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

template <class L>
HWY_INLINE void Activate(const ActivationArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F zero = L::Set(0.0F);
  const F slope = L::Set(args.relu.slope);
  const F max = L::Set(args.relu.max);
  switch (args.function) {
    case Function::kRelu: {
      const auto relu = [&](F x) SHOAL_LAMBDA {
        const F y = L::Select(x < zero, x * slope, x);
        return L::Select(max < y, max, y);
      };
      return MapRows<L>(args.y, begin, end, relu, args.x);
    }
    case Function::kSigmoid: {
      const auto sigmoid = [&](F x) SHOAL_LAMBDA { return Sigmoid<L>(x); };
      return MapRows<L>(args.y, begin, end, sigmoid, args.x);
    }
    case Function::kTanh: {
      const auto tanh = [&](F x) SHOAL_LAMBDA { return Tanh<L>(x); };
      return MapRows<L>(args.y, begin, end, tanh, args.x);
    }
  }
}

template <class L>
HWY_INLINE void Gradient(const GradientArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F zero = L::Set(0.0F);
  const F one = L::Set(1.0F);
  const F slope = L::Set(args.relu.slope);
  const F max = L::Set(args.relu.max);
  switch (args.function) {
    case Function::kRelu: {
      const auto relu = [&](F y, F dy) SHOAL_LAMBDA {
        return L::Select(zero < y, L::Select(y < max, dy, zero), dy * slope);
      };
      return MapRowsTo<L>(args.dx, args.accumulate, begin, end, relu, args.y, args.dy);
    }
    case Function::kSigmoid: {
      const auto sigmoid = [&](F y, F dy) SHOAL_LAMBDA { return dy * (y * (one - y)); };
      return MapRowsTo<L>(args.dx, args.accumulate, begin, end, sigmoid, args.y, args.dy);
    }
    case Function::kTanh: {
      const auto tanh = [&](F y, F dy) SHOAL_LAMBDA { return dy * L::Fma(zero - y, y, one); };
      return MapRowsTo<L>(args.dx, args.accumulate, begin, end, tanh, args.y, args.dy);
    }
  }
}

}  // namespace

#if SHOAL_SIMD
void SimdActivate(const ActivationArgs& args, std::size_t begin, std::size_t end) {
  Activate<VectorRow>(args, begin, end);
}
void SimdGradient(const GradientArgs& args, std::size_t begin, std::size_t end) {
  Gradient<VectorRow>(args, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefActivate(const ActivationArgs& args, std::size_t begin, std::size_t end) {
  Activate<ScalarRow>(args, begin, end);
}
void RefGradient(const GradientArgs& args, std::size_t begin, std::size_t end) {
  Gradient<ScalarRow>(args, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using ActivateKernel = void(const ActivationArgs&, std::size_t, std::size_t);
using GradientKernel = void(const GradientArgs&, std::size_t, std::size_t);
constexpr Implementation<ActivateKernel> kActivateTable[] = {
    SHOAL_SIMD_ROWS(ActivateKernel, SimdActivate){Target::kRef, &HWY_NAMESPACE::RefActivate}};
constexpr Implementation<GradientKernel> kGradientTable[] = {
    SHOAL_SIMD_ROWS(GradientKernel, SimdGradient){Target::kRef, &HWY_NAMESPACE::RefGradient}};

void Run(const ActivationArgs& args, Parallel& parallel, Target target) {
  CheckSameShape(args.x, args.y);
  ActivateKernel* const kernel = Choose<ActivateKernel>(kActivateTable, target);
  ForChunks(args.y.rows, RowsPerTask(args.y.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

void Run(const GradientArgs& args, Parallel& parallel, Target target) {
  CheckSameShape(args.y, args.dx);
  CheckSameShape(args.dy, args.dx);
  GradientKernel* const kernel = Choose<GradientKernel>(kGradientTable, target);
  ForChunks(args.dx.rows, RowsPerTask(args.dx.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

}  // namespace

void ReluRows(const ReluParams& params, ConstRows x, Rows y, Parallel& parallel, Target target) {
  SHOAL_CHECK(params.slope >= 0 && params.max > 0);
  Run(ActivationArgs{Function::kRelu, params, x, y}, parallel, target);
}

void ReluRowsBackward(const ReluParams& params, ConstRows y, ConstRows dy, Rows dx, bool accumulate,
                      Parallel& parallel, Target target) {
  SHOAL_CHECK(params.slope >= 0 && params.max > 0);
  Run(GradientArgs{Function::kRelu, params, y, dy, dx, accumulate}, parallel, target);
}

void SigmoidRows(ConstRows x, Rows y, Parallel& parallel, Target target) {
  Run(ActivationArgs{Function::kSigmoid, {}, x, y}, parallel, target);
}

void SigmoidRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                         Target target) {
  Run(GradientArgs{Function::kSigmoid, {}, y, dy, dx, accumulate}, parallel, target);
}

void TanhRows(ConstRows x, Rows y, Parallel& parallel, Target target) {
  Run(ActivationArgs{Function::kTanh, {}, x, y}, parallel, target);
}

void TanhRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                      Target target) {
  Run(GradientArgs{Function::kTanh, {}, y, dy, dx, accumulate}, parallel, target);
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
