#include "kernels/elementwise.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/map-inl.h"
#include "kernels/scalar_lanes.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

using V = VectorF32;

struct AddOp {
  HWY_INLINE V::F operator()(V::F x, V::F y) const { return x + y; }
};
struct MulOp {
  HWY_INLINE V::F operator()(V::F x, V::F y) const { return x * y; }
};
struct AxpyOp {
  V::F a;
  HWY_INLINE V::F operator()(V::F x, V::F y) const { return V::Fma(a, x, y); }
};
struct ScaleOp {
  V::F a;
  HWY_INLINE V::F operator()(V::F x) const { return a * x; }
};
struct ClampOp {
  V::F low;
  V::F high;
  HWY_INLINE V::F operator()(V::F x) const {
    return V::Select(x < low, low, V::Select(high < x, high, x));
  }
};
struct AddRoundedOp {
  ClampOp clamp;
  V::F magic;
  HWY_INLINE V::F operator()(V::F x, V::F y) const { return y + ((clamp(x) + magic) - magic); }
};
struct ReluOp {
  HWY_INLINE V::F operator()(V::F x) const {
    const V::F zero = V::Set(0.0F);
    return V::Select(x <= zero, zero, x);
  }
};

}  // namespace

void MapAdd(const float* x, const float* y, float* z, std::size_t n) { Map(AddOp(), n, z, x, y); }
void MapMul(const float* x, const float* y, float* z, std::size_t n) { Map(MulOp(), n, z, x, y); }
void MapScale(float a, const float* x, float* y, std::size_t n) {
  Map(ScaleOp{V::Set(a)}, n, y, x);
}
void MapAxpy(float a, const float* x, float* y, std::size_t n) {
  Map(AxpyOp{V::Set(a)}, n, y, x, static_cast<const float*>(y));
}
void MapClamp(float low, float high, const float* x, float* y, std::size_t n) {
  Map(ClampOp{V::Set(low), V::Set(high)}, n, y, x);
}
void MapAddRounded(float limit, float magic, const float* x, float* y, std::size_t n) {
  Map(AddRoundedOp{{V::Set(-limit), V::Set(limit)}, V::Set(magic)}, n, y, x,
      static_cast<const float*>(y));
}
void MapRelu(const float* x, float* y, std::size_t n) { Map(ReluOp(), n, y, x); }

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

float CanonicalScalar(float x) { return HWY_NAMESPACE::Canonical<ScalarF32>(x); }

void RefAdd(const float* x, const float* y, float* z, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) z[i] = CanonicalScalar(x[i] + y[i]);
}
void RefMul(const float* x, const float* y, float* z, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) z[i] = CanonicalScalar(x[i] * y[i]);
}
void RefScale(float a, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = CanonicalScalar(a * x[i]);
}
void RefAxpy(float a, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = CanonicalScalar(std::fma(a, x[i], y[i]));
}
void RefClamp(float low, float high, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = CanonicalScalar(x[i] < low ? low : (x[i] > high ? high : x[i]));
  }
}
void RefAddRounded(float limit, float magic, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float cut = x[i] < -limit ? -limit : (x[i] > limit ? limit : x[i]);
    y[i] = CanonicalScalar(y[i] + ((cut + magic) - magic));
  }
}
void RefRelu(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = CanonicalScalar(x[i] <= 0.0F ? 0.0F : x[i]);
}

using BinaryKernel = void(const float*, const float*, float*, std::size_t);
using ScaledKernel = void(float, const float*, float*, std::size_t);
using ClampKernel = void(float, float, const float*, float*, std::size_t);
using AddRoundedKernel = void(float, float, const float*, float*, std::size_t);
using UnaryKernel = void(const float*, float*, std::size_t);
constexpr Implementation<BinaryKernel> kAddTable[] = {
    SHOAL_SIMD_ROWS(BinaryKernel, MapAdd){Target::kRef, &RefAdd}};
constexpr Implementation<BinaryKernel> kMulTable[] = {
    SHOAL_SIMD_ROWS(BinaryKernel, MapMul){Target::kRef, &RefMul}};
constexpr Implementation<ScaledKernel> kScaleTable[] = {
    SHOAL_SIMD_ROWS(ScaledKernel, MapScale){Target::kRef, &RefScale}};
constexpr Implementation<ScaledKernel> kAxpyTable[] = {
    SHOAL_SIMD_ROWS(ScaledKernel, MapAxpy){Target::kRef, &RefAxpy}};
constexpr Implementation<ClampKernel> kClampTable[] = {
    SHOAL_SIMD_ROWS(ClampKernel, MapClamp){Target::kRef, &RefClamp}};
constexpr Implementation<AddRoundedKernel> kAddRoundedTable[] = {
    SHOAL_SIMD_ROWS(AddRoundedKernel, MapAddRounded){Target::kRef, &RefAddRounded}};
constexpr Implementation<UnaryKernel> kReluTable[] = {
    SHOAL_SIMD_ROWS(UnaryKernel, MapRelu){Target::kRef, &RefRelu}};

void RunBinary(BinaryKernel* kernel, std::span<const float> x, std::span<const float> y,
               std::span<float> z, Parallel& parallel) {
  SHOAL_CHECK_EQ(x.size(), z.size());
  SHOAL_CHECK_EQ(y.size(), z.size());
  ForChunks(z.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(x.data() + begin, y.data() + begin, z.data() + begin, end - begin);
  });
}

void RunScaled(ScaledKernel* kernel, float a, std::span<const float> x, std::span<float> y,
               Parallel& parallel) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  ForChunks(y.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(a, x.data() + begin, y.data() + begin, end - begin);
  });
}

}  // namespace

void Add(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target) {
  RunBinary(Choose<BinaryKernel>(kAddTable, target), x, y, z, parallel);
}

void Mul(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target) {
  RunBinary(Choose<BinaryKernel>(kMulTable, target), x, y, z, parallel);
}

void Scale(float a, std::span<const float> x, std::span<float> y, Parallel& parallel,
           Target target) {
  RunScaled(Choose<ScaledKernel>(kScaleTable, target), a, x, y, parallel);
}

void Axpy(float a, std::span<const float> x, std::span<float> y, Parallel& parallel,
          Target target) {
  RunScaled(Choose<ScaledKernel>(kAxpyTable, target), a, x, y, parallel);
}

void Clamp(float low, float high, std::span<const float> x, std::span<float> y, Parallel& parallel,
           Target target) {
  SHOAL_CHECK(low <= high);
  SHOAL_CHECK_EQ(x.size(), y.size());
  ClampKernel* const kernel = Choose<ClampKernel>(kClampTable, target);
  ForChunks(y.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(low, high, x.data() + begin, y.data() + begin, end - begin);
  });
}

void AddRounded(float limit, float quantum, std::span<const float> x, std::span<float> y,
                Parallel& parallel, Target target) {
  SHOAL_CHECK(quantum <= limit && limit <= 0x1p22F * quantum);
  SHOAL_CHECK_EQ(x.size(), y.size());
  // From 2^23 to 2^24 quanta floats are a quantum apart; this, plus or minus the limit, is there.
  const float magic = 0x1.8p23F * quantum;
  AddRoundedKernel* const kernel = Choose<AddRoundedKernel>(kAddRoundedTable, target);
  ForChunks(y.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(limit, magic, x.data() + begin, y.data() + begin, end - begin);
  });
}

void Relu(std::span<const float> x, std::span<float> y, Parallel& parallel, Target target) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  UnaryKernel* const kernel = Choose<UnaryKernel>(kReluTable, target);
  ForChunks(y.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(x.data() + begin, y.data() + begin, end - begin);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
