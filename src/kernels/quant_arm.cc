#include "kernels/quant_arm.h"

// Highway's header must see which targets were chosen.
// clang-format off
#include "kernels/simd_targets.h"
#include <hwy/highway.h>
// clang-format on

#include <arm_neon.h>

#include <cstring>

#include "kernels/packed_weights.h"

// What follows may use the instructions; the rest of the program runs on every 64-bit ARM.
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

#include "kernels/quant_isa_arm-inl.h"
#include "kernels/quant_tile-inl.h"

namespace shoal::kernels {
namespace {

// As assembly because clang's arm_neon.h hides the intrinsic unless the whole file may use it.
struct DotprodDot4 {
  static HWY_INLINE int32x4_t Add(int32x4_t sums, int8x16_t w, int8x16_t x) {
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(w), "w"(x));
    return sums;
  }
};

}  // namespace

void DotprodQuantTile(PackedForm form, const QuantTile& tile) {
  HWY_NAMESPACE::RunQuantTile<HWY_NAMESPACE::QuantNeon<DotprodDot4>>(form, tile);
}

}  // namespace shoal::kernels

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
