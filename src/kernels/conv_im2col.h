// The patches of images as a matrix in memory, the way Caffe convolves: a row for each position of
// the kernel, a column for each tap and channel of a group. Internal to kernels/.
#pragma once

#include <cstddef>

#include "kernels/conv.h"
#include "kernels/conv_pixels.h"

namespace shoal::kernels {

// Some rows of outputs of one image and the columns [k_begin, k_begin + k_size) of one group.
struct Im2ColBlock {
  std::size_t image = 0;
  std::size_t group = 0;
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t k_begin = 0;
  std::size_t k_size = 0;
};

// Whether the patches are the pixels themselves.
bool PatchesArePixels(const ConvShape& shape);

// columns[rows · out_width, k_size], dense, from the whole blob `x`; padding is 0.
void Im2Col(const ConvShape& shape, const Im2ColBlock& block, ConstPixels x, float* columns);

// The reverse: adds each patch to the pixels that it was read from. REQUIRES: all columns.
void AddCol2Im(const ConvShape& shape, const Im2ColBlock& block, const float* columns, Pixels x);

}  // namespace shoal::kernels
