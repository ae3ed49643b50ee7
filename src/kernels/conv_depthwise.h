// "depthwise": convolutions of one channel at a time (groups == channels == outputs), channels in
// vector lanes. They do so little with each number that they are as fast as memory, where a GEMM
// per channel would be a hundred times slower. Kernels of 3×3, the usual ones, go line by line
// (conv_depthwise_lines.h), others and `ref` pixel by pixel.
//
// The bits of finite results are the same on all targets.
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
