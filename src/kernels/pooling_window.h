// Which pixels a window of a pooling covers, which windows cover a pixel, and how the lines of an
// image are cut into tasks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/pooling.h"

namespace shoal::kernels {

// One direction of a pooling.
struct PoolAxis {
  std::size_t size;  // Of the image.
  std::size_t kernel;
  std::size_t stride;
  std::size_t pad;
  std::size_t outputs;

  struct Range {
    std::size_t begin;
    std::size_t end;  // Not less than begin.
  };

  // The pixels of window `out` inside the image.
  Range Pixels(std::size_t out) const {
    const std::size_t start = out * stride;  // In padded coordinates.
    const std::size_t begin = std::min(size, start > pad ? start - pad : 0);
    const std::size_t end = start + kernel > pad ? std::min(size, start + kernel - pad) : 0;
    return {begin, std::max(begin, end)};
  }
  // The windows that cover a pixel.
  Range Windows(std::size_t pixel) const {
    const std::size_t padded = pixel + pad;
    const std::size_t begin = padded < kernel ? 0 : (padded - kernel) / stride + 1;
    const std::size_t end = std::min(outputs, padded / stride + 1);
    return {std::min(begin, end), end};
  }
  // Where a pixel lies in a window that covers it, before clipping.
  std::size_t Offset(std::size_t pixel, std::size_t out) const {
    return pixel + pad - out * stride;
  }
  // The length of a window clipped to image and padding; 0 beside them.
  std::size_t Length(std::size_t out) const {
    const std::size_t start = out * stride;
    const std::size_t end = std::min(start + kernel, size + 2 * pad);
    return end > start ? end - start : 0;
  }
};

inline PoolAxis VerticalAxis(const PoolShape& shape) {
  return {shape.height, shape.kernel_h, shape.stride_h, shape.pad_h, shape.out_height};
}
inline PoolAxis HorizontalAxis(const PoolShape& shape) {
  return {shape.width, shape.kernel_w, shape.stride_w, shape.pad_w, shape.out_width};
}

// Lines of a batch of images by channels: what a task works on. Line l belongs to image
// l / (lines of an image).
struct PoolBlock {
  std::size_t line_begin;
  std::size_t line_end;
  std::size_t channel_begin;
  std::size_t channel_end;
};

// Calls body(PoolBlock) for blocks that together are all lines and channels; `line_reads` is what
// a line costs, in elements read. Few lines (a global pooling has one per image) are cut by
// channels too.
template <class Body>
void ForPoolBlocks(std::size_t lines, std::size_t line_reads, std::size_t channels,
                   Parallel& parallel, const Body& body) {
  constexpr std::size_t kTasks = 16;
  constexpr std::size_t kWidth = 64;
  const std::size_t grain = RowsPerTask(line_reads);
  const std::size_t line_tasks = (lines + grain - 1) / grain;
  std::size_t width = channels;
  if (line_tasks > 0 && line_tasks < kTasks && grain == 1) {
    const std::size_t wanted = (kTasks + line_tasks - 1) / line_tasks;
    width = ((channels + wanted - 1) / wanted + kWidth - 1) / kWidth * kWidth;
  }
  const std::size_t widths = (channels + width - 1) / std::max<std::size_t>(1, width);
  ForChunks(line_tasks * widths, 1, parallel, [&](std::size_t task, std::size_t /*end*/) {
    const std::size_t line = task / widths * grain;
    const std::size_t channel = task % widths * width;
    body(PoolBlock{line, std::min(lines, line + grain), channel,
                   std::min(channels, channel + width)});
  });
}

// What a line of the output costs: its share of the image.
inline std::size_t PoolLineReads(const PoolShape& shape) {
  const std::size_t image = shape.height * shape.width * shape.channels;
  return image / std::max<std::size_t>(1, shape.out_height);
}

inline void CheckPoolRows(const PoolShape& shape, ConstRows image, ConstRows out) {
  SHOAL_CHECK_EQ(image.rows, shape.in_pixels());
  SHOAL_CHECK_EQ(image.channels, shape.channels);
  SHOAL_CHECK_EQ(out.rows, shape.out_pixels());
  SHOAL_CHECK_EQ(out.channels, shape.channels);
}

}  // namespace shoal::kernels
