// "depthwise": convolutions of one channel at a time (groups == channels == outputs), channels in
// vector lanes. They do so little with each number that they are as fast as memory, where a GEMM
// per channel would be a hundred times slower. Rows of three taps, the usual ones, go several
// pixels at a time.
//
// The bits are those of one target on all targets.
#pragma once

#include <memory>

#include "kernels/conv.h"

namespace shoal::kernels {

// Null if the shape is not depthwise.
std::unique_ptr<ConvForward> MakeDepthwiseForward(const ConvShape& shape,
                                                  const ConvOptions& options);
std::unique_ptr<ConvBackwardData> MakeDepthwiseBackwardData(const ConvShape& shape,
                                                            const ConvOptions& options);
std::unique_ptr<ConvBackwardWeights> MakeDepthwiseBackwardWeights(const ConvShape& shape,
                                                                  const ConvOptions& options);

}  // namespace shoal::kernels
