// What convolutions by other people's libraries need around them: pixels copied, added and
// rectified where a library cannot do it in place, and the gradient of a bias. Internal to
// kernels/.
#pragma once

#include <cstddef>

#include "base/parallel.h"

namespace shoal::kernels {

// Pixels of some channels, rows `stride` floats apart.
struct ConstPixels {
  const float* data = nullptr;
  std::size_t stride = 0;
};
struct Pixels {
  float* data = nullptr;
  std::size_t stride = 0;
};

// `count` pixels of `channels`; the two do not overlap.
void CopyPixels(ConstPixels from, Pixels to, std::size_t count, std::size_t channels);
// to += from
void AddPixels(ConstPixels from, Pixels to, std::size_t count, std::size_t channels);
// c < 0 ? 0 : c, in place: a NaN stays one.
void ReluPixels(Pixels pixels, std::size_t count, std::size_t channels);
// Adds `bias` (or none) to every pixel, then ReLU if asked for.
void FinishPixels(Pixels pixels, std::size_t count, std::size_t channels, const float* bias,
                  bool relu);

// sums = (or +=) the sum of all pixels, the same bits for any number of workers.
// `workspace` holds ColumnSumFloats(channels).
std::size_t ColumnSumFloats(std::size_t channels);
void ColumnSums(ConstPixels pixels, std::size_t count, std::size_t channels, bool accumulate,
                float* sums, float* workspace, Parallel& parallel);

}  // namespace shoal::kernels
