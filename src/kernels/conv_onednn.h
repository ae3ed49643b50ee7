// "onednn": convolution by Intel's library, for x86. Builds without it have no_onednn.cc.
//
// Its threads are OpenMP's, which would fight with ours: so each of our workers runs it on one
// thread, on some images, or on some channels of them where images are few. How the work is cut
// depends on the shape alone, and so do the bits. Activations stay as they are where they are
// dense; a slice of a wider blob is copied, because its fast kernels take dense pixels only.
// Weights are brought into the order that it prefers in every run.
#pragma once

#include <span>

#include "kernels/conv.h"

namespace shoal::kernels {

// One row, or none if this build has no such library.
std::span<const ConvImplementation> OneDnnConvRows();

}  // namespace shoal::kernels
