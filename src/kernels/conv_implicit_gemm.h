// "implicit-gemm": convolution as a product of matrices of which one, the patches of the image,
// is gathered block by block while it is multiplied (conv_patches.h). Every shape, every pass,
// and no more memory than a GEMM needs. It is what the other rows of the table are measured by.
//
// The bits are those of one target on all targets.
#pragma once

#include <memory>

#include "kernels/conv.h"

namespace shoal::kernels {

std::unique_ptr<ConvForward> MakeImplicitGemmForward(const ConvShape& shape,
                                                     const ConvOptions& options);
std::unique_ptr<ConvBackwardData> MakeImplicitGemmBackwardData(const ConvShape& shape,
                                                               const ConvOptions& options);
// In conv_implicit_gemm_weights.cc.
std::unique_ptr<ConvBackwardWeights> MakeImplicitGemmBackwardWeights(const ConvShape& shape,
                                                                     const ConvOptions& options);

}  // namespace shoal::kernels
