// Channels as planes (how files store them) and side by side in a pixel (how we compute).
#pragma once

#include <algorithm>
#include <cstdint>

namespace shoal::data {

// planes[c][i] to pixels[i][c].
template <class T>
void Interleave(const T* planes, std::int64_t pixels, std::int64_t channels, T* out) {
  if (channels == 1) {
    std::copy_n(planes, pixels, out);
  } else if (channels == 3) {  // The usual case, in one pass.
    for (std::int64_t i = 0; i < pixels; ++i) {
      out[3 * i] = planes[i];
      out[3 * i + 1] = planes[pixels + i];
      out[3 * i + 2] = planes[2 * pixels + i];
    }
  } else {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < pixels; ++i) out[i * channels + c] = planes[c * pixels + i];
    }
  }
}

// pixels[i][c] to planes[c][i].
template <class T>
void Separate(const T* pixels_in, std::int64_t pixels, std::int64_t channels, T* out) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < pixels; ++i) out[c * pixels + i] = pixels_in[i * channels + c];
  }
}

}  // namespace shoal::data
