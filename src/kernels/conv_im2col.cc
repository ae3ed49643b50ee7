#include "kernels/conv_im2col.h"

#include <algorithm>

namespace shoal::kernels {
namespace {

// Calls f(column, pixel, channel, count) for each piece of a patch that lies in the image, and
// f(column, kOutside, channel, count) for those that do not.
constexpr std::size_t kOutside = ~std::size_t{0};

struct Position {
  std::size_t image;
  std::size_t i;
  std::size_t j;
};

template <class Function>
void ForEachTap(const ConvShape& s, const Im2ColBlock& block, const Position& at,
                const Function& f) {
  const std::size_t channels = s.channels / s.groups;
  const std::size_t k_end = block.k_begin + block.k_size;
  for (std::size_t k = block.k_begin; k < k_end;) {
    const std::size_t tap = k / channels;
    const std::size_t channel = k % channels;
    const std::size_t count = std::min(channels - channel, k_end - k);
    // Coordinates before the image wrap around and are behind it then.
    const std::size_t y = at.i * s.stride_h + tap / s.kernel_w * s.dilation_h - s.pad_h;
    const std::size_t x = at.j * s.stride_w + tap % s.kernel_w * s.dilation_w - s.pad_w;
    const bool inside = y < s.height && x < s.width;
    f(k - block.k_begin, inside ? (at.image * s.height + y) * s.width + x : kOutside,
      block.group * channels + channel, count);
    k += count;
  }
}

template <class Function>
void ForEachPosition(const ConvShape& s, const Im2ColBlock& block, const Function& f) {
  for (std::size_t i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < s.out_width(); ++j) {
      f(i * s.out_width() + j, Position{block.image, block.row + i, j});
    }
  }
}

}  // namespace

bool PatchesArePixels(const ConvShape& s) {
  return s.kernel_h * s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_h == 0 &&
         s.pad_w == 0;
}

void Im2Col(const ConvShape& shape, const Im2ColBlock& block, ConstPixels x, float* columns) {
  ForEachPosition(shape, block, [&](std::size_t row, const Position& at) {
    float* patch = columns + row * block.k_size;
    ForEachTap(shape, block, at,
               [&](std::size_t k, std::size_t pixel, std::size_t channel, std::size_t count) {
                 if (pixel == kOutside) {
                   std::fill_n(patch + k, count, 0.0F);
                 } else {
                   std::copy_n(x.data + pixel * x.stride + channel, count, patch + k);
                 }
               });
  });
}

void AddCol2Im(const ConvShape& shape, const Im2ColBlock& block, const float* columns, Pixels x) {
  ForEachPosition(shape, block, [&](std::size_t row, const Position& at) {
    const float* patch = columns + row * block.k_size;
    ForEachTap(shape, block, at,
               [&](std::size_t k, std::size_t pixel, std::size_t channel, std::size_t count) {
                 if (pixel == kOutside) return;
                 AddPixels({.data = patch + k, .stride = 0},
                           {.data = x.data + pixel * x.stride + channel, .stride = 0}, 1, count);
               });
  });
}

}  // namespace shoal::kernels
