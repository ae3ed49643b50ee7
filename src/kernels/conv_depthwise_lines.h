// The depthwise convolutions of 3×3 (and of what stride 2 leaves of them in a backward pass) by
// lines: a block of channels of the image is packed line by line, each once, and a line of the
// result is computed from the three that it reads while they are in the L1. Internal to kernels/.
//
// Taps outside the image are multiplied by 0 or left out. The bits are those of conv_depthwise.cc's
// other way, pixel by pixel, for finite numbers.
#pragma once

#include <memory>

#include "kernels/conv.h"

namespace shoal::kernels {

// Null if the shape or the target has no such way. REQUIRES: the shape is depthwise.
std::unique_ptr<ConvForward> MakeDepthwiseLinesForward(const ConvShape& shape,
                                                       const ConvOptions& options);
std::unique_ptr<ConvBackwardData> MakeDepthwiseLinesBackwardData(const ConvShape& shape,
                                                                 const ConvOptions& options);
std::unique_ptr<ConvBackwardWeights> MakeDepthwiseLinesBackwardWeights(const ConvShape& shape,
                                                                       const ConvOptions& options);

}  // namespace shoal::kernels
