// Maximum and average over windows of an image, forward and backward, by Caffe's rules. See rows.h;
// rows are the pixels of a batch of images (NHWC).
//
// A window starts at out · stride - pad and is clipped to the image. The maximum is the first in
// row-major order (a NaN never is). The average is divided by the size of the window clipped to the
// image and its padding: zeros of the padding count, what lies beyond it does not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// A value. The caller computes the size of the output: networks round it up or down.
struct PoolShape {
  std::size_t batch = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_h = 1;
  std::size_t stride_w = 1;
  std::size_t pad_h = 0;
  std::size_t pad_w = 0;
  std::size_t out_height = 0;
  std::size_t out_width = 0;

  std::size_t in_pixels() const { return batch * height * width; }
  std::size_t out_pixels() const { return batch * out_height * out_width; }
};

// The place of each maximum in its window (before clipping), a byte or two for each element of the
// output, dense. Bytes needed; REQUIRES: at most 65536 pixels in a window.
std::size_t MaxPoolIndexBytes(const PoolShape& shape);

// A window that lies beside the image gives -FLT_MAX, as in Caffe. `index` receives
// MaxPoolIndexBytes(), at an even address, for the backward pass; null if there will be none.
void MaxPool(const PoolShape& shape, ConstRows x, Rows y, void* index, Parallel& parallel,
             Target target = BestTarget());

// dx = (or, with `accumulate`, +=) the gradient by x. If y has data it is the output, and only
// gradients where y > 0 count: the backward pass of a ReLU before the pooling, folded in.
void MaxPoolBackward(const PoolShape& shape, ConstRows dy, const void* index, ConstRows y, Rows dx,
                     bool accumulate, Parallel& parallel, Target target = BestTarget());

// A window that lies beside image and padding gives 0.
void AveragePool(const PoolShape& shape, ConstRows x, Rows y, Parallel& parallel,
                 Target target = BestTarget());

void AveragePoolBackward(const PoolShape& shape, ConstRows dy, Rows dx, bool accumulate,
                         Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
