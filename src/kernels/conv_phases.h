// A backward pass by data as convolutions of stride 1: with a stride of s × s, the pixels of dx
// fall into s² phases, each of which reads its own share of the taps. Nothing is multiplied by the
// zeros that lie between the pixels of dy. Internal to kernels/.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/conv.h"
#include "kernels/conv_patches.h"
#include "kernels/gemm_loop.h"

namespace shoal::kernels {

// Pixels of the result that read the same taps, relative to themselves.
struct ConvPhase {
  PatchShape patches;             // What they read.
  std::vector<std::size_t> taps;  // Of w, for each tap of a patch: kernel row · kernel_w + column.
  std::size_t first_pixel = 0;    // Of the result, and …
  GemmRowGrid grid;               // … where the others are from there, in pixels.
};

// dx from patches of dy, one group. Phases may have no pixels, or no taps: their dx is 0.
std::vector<ConvPhase> BackwardPhases(const ConvShape& shape);

// y from patches of x, one group.
ConvPhase ForwardPhase(const ConvShape& shape);

}  // namespace shoal::kernels
