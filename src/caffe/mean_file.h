// mean.binaryproto: the mean image of a data set. Pure functions on bytes; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "caffe/blob.h"

namespace shoal::caffe {

// A blob of the shape (C, H, W), whichever of its forms the file has.
Result<Blob> ReadMean(std::string_view file, std::string_view bytes);

// As Caffe's own tool writes it: (1, C, H, W) in the old form of a shape, which every version
// reads. REQUIRES: mean.shape has 3 dimensions.
std::string WriteMean(const Blob& mean);

}  // namespace shoal::caffe
