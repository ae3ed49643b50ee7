// Which of Highway's targets our kernels are compiled for. A kernel source reads:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/x.cc"
//   #include "kernels/simd_targets.h"
//   #include <hwy/foreach_target.h>  // compiles this file once per target …
//   #include <hwy/highway.h>
//   #if SHOAL_SIMD
//   HWY_BEFORE_NAMESPACE();
//   namespace shoal::kernels::HWY_NAMESPACE { … }  // … each in a namespace of its own
//   HWY_AFTER_NAMESPACE();
//   #endif
//   #if HWY_ONCE
//   namespace shoal::kernels { the table, with SHOAL_SIMD_ROWS(Function, Name), then ref }
//   #endif
//
// Highway is used header-only: libhwy's dispatcher is not linked, the tables are
// ours. SSE is left out because it has no FMA, which the arithmetic is defined by
// (such a CPU runs ref), SVE because no phone of ours was tested with it.
#pragma once

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "Highway has chosen its targets already: include kernels/simd_targets.h before it"
#endif

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// Without this, Highway compiles NEON code with g++ as if every 64-bit ARM had the AES and SHA
// instructions (a Raspberry Pi has not). Its only effect is that Highway neither pushes "+crypto"
// nor defines the ops that need it; dispatch on ARM is ours anyway.
#define TOOLCHAIN_MISS_SYS_AUXV_H

#include <hwy/detect_targets.h>

// Evaluated anew in each pass; false in the one that Highway makes for the scalar baseline of x86.
#define SHOAL_SIMD (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON)

// Rows of an Implementation<Function> table for a function compiled per target.
#if HWY_TARGETS & HWY_AVX2
#define SHOAL_SIMD_ROWS(Function, Name)                     \
  Implementation<Function>{Target::kAvx512, &N_AVX3::Name}, \
      Implementation<Function>{Target::kAvx2, &N_AVX2::Name},
#elif HWY_TARGETS & HWY_NEON
#define SHOAL_SIMD_ROWS(Function, Name) Implementation<Function>{Target::kNeon, &N_NEON::Name},
#else
#define SHOAL_SIMD_ROWS(Function, Name)
#endif
