// Blob: what an op sees of the numbers between layers at run time. Axes are Caffe's; memory is
// NHWC for blobs of rank 4 and row-major for all others, so that every blob is a matrix of `rows`
// (pixels, or what is not the last axis) by `channels`, whose rows lie `stride` floats apart.
#pragma once

#include <cstddef>

#include "kernels/rows.h"
#include "tensor/shape.h"

namespace shoal::nn {

// The extents of a blob of images; of a blob of another rank, its rows as N and its last axis as C.
struct ImageShape {
  std::size_t batch = 1;
  std::size_t channels = 1;
  std::size_t height = 1;
  std::size_t width = 1;

  std::size_t pixels() const { return batch * height * width; }
};

inline ImageShape AsImages(const Shape& shape) {
  const auto at = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  if (shape.rank() == 4) return {at(0), at(1), at(2), at(3)};
  if (shape.rank() == 0) return {};
  const std::size_t channels = at(shape.rank() - 1);
  const auto elements = static_cast<std::size_t>(shape.elements());
  return {channels == 0 ? 0 : elements / channels, channels, 1, 1};
}

// A view; does not keep the numbers alive. `data` is null for what an op is not to read or write.
struct Blob {
  float* data = nullptr;
  Shape shape;
  std::size_t stride = 1;  // At least the number of channels.

  std::size_t elements() const { return static_cast<std::size_t>(shape.elements()); }
  kernels::Rows rows() const {
    const ImageShape images = AsImages(shape);
    return {data, images.pixels(), images.channels, stride};
  }
};

}  // namespace shoal::nn
