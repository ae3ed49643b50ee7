// How Winograd's convolutions see images: as tiles of side × side outputs, each with the window of
// (side + 2)² inputs under it. Internal to kernels/.
#pragma once

#include <cstddef>

#include "kernels/gemm_loop.h"

namespace shoal::kernels {

inline std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
inline std::size_t RoundUp(std::size_t a, std::size_t b) { return CeilDiv(a, b) * b; }

// NHWC images, or a slice of their channels. T is float or const float.
template <class T>
struct WinogradImages {
  T* data = nullptr;
  std::size_t stride = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  // Stands for every pixel outside: zeros to read, or room for what nobody reads.
  T* outside = nullptr;

  // Pointers to the n × n pixels of image `sample` from (top, left) on, row by row.
  void Window(std::size_t sample, std::ptrdiff_t top, std::ptrdiff_t left, std::size_t n,
              T** pixels) const {
    for (std::size_t i = 0; i < n; ++i) {
      // A negative number becomes one that is too large.
      const std::size_t y = static_cast<std::size_t>(top) + i;
      T* row = data + (sample * height + y) * width * stride;
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t x = static_cast<std::size_t>(left) + j;
        *pixels++ = y < height && x < width ? row + x * stride : outside;
      }
    }
  }
};

// The tiles of a batch of outputs, numbered along rows, then down, then through the batch.
struct WinogradTiles {
  std::size_t side = 0;
  std::size_t down = 0;
  std::size_t across = 0;
  std::size_t count = 0;
  std::ptrdiff_t pad_h = 0;
  std::ptrdiff_t pad_w = 0;

  std::size_t window() const { return side + 2; }
  std::size_t positions() const { return window() * window(); }

  template <class T>
  void Inputs(const WinogradImages<T>& images, std::size_t tile, T** pixels) const {
    images.Window(Sample(tile), Top(tile) - pad_h, Left(tile) - pad_w, window(), pixels);
  }
  template <class T>
  void Outputs(const WinogradImages<T>& images, std::size_t tile, T** pixels) const {
    images.Window(Sample(tile), Top(tile), Left(tile), side, pixels);
  }

 private:
  std::size_t Sample(std::size_t tile) const { return tile / (down * across); }
  std::ptrdiff_t Top(std::size_t tile) const {
    return static_cast<std::ptrdiff_t>(tile / across % down * side);
  }
  std::ptrdiff_t Left(std::size_t tile) const {
    return static_cast<std::ptrdiff_t>(tile % across * side);
  }
};

inline WinogradTiles MakeWinogradTiles(std::size_t side, std::size_t batch, std::size_t out_height,
                                       std::size_t out_width, std::size_t pad_h,
                                       std::size_t pad_w) {
  const std::size_t down = CeilDiv(out_height, side);
  const std::size_t across = CeilDiv(out_width, side);
  return {.side = side,
          .down = down,
          .across = across,
          .count = batch * down * across,
          .pad_h = static_cast<std::ptrdiff_t>(pad_h),
          .pad_w = static_cast<std::ptrdiff_t>(pad_w)};
}

}  // namespace shoal::kernels
