// "im2col-openblas": convolution the way Caffe and the paper compute it, a matrix of patches in
// memory and a multiplication by OpenBLAS. For comparison (`shoal bench blas`): over a network it
// is slower than our own rows, if not for every single shape.
//
// The library is loaded when the row is asked for, because it starts threads and takes memory when
// it is there. Each of our workers runs it on one thread, on whole images or rows of them; how the
// work is cut depends on the shape alone. Static builds cannot load it and have no_blas.cc.
#pragma once

#include "base/status.h"
#include "kernels/conv.h"

namespace shoal::kernels {

inline constexpr std::string_view kBlasConvName = "im2col-openblas";

// The row; kUnavailable if the library is not installed. Sets the library's environment variables
// where they are not set, so: not while other threads read the environment.
Result<ConvImplementation> LoadBlasConv();

}  // namespace shoal::kernels
