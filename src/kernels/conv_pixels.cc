#include "kernels/conv_pixels.h"

#include <algorithm>
#include <array>

namespace shoal::kernels {
namespace {

// Of a sum over all pixels; enough for a few cores.
constexpr std::size_t kSumParts = 8;
// Pixels that are added up before they are added to the sum, which loses fewer bits.
constexpr std::size_t kRun = 128;
// Columns at once: a constant, so that compilers vectorise the loops.
constexpr std::size_t kColumns = 16;

void SumRun(ConstPixels pixels, std::size_t count, std::size_t channels, float* sums) {
  std::size_t c = 0;
  for (; c + kColumns <= channels; c += kColumns) {
    std::array<float, kColumns> run{};
    for (std::size_t p = 0; p < count; ++p) {
      const float* in = pixels.data + p * pixels.stride + c;
      for (std::size_t i = 0; i < kColumns; ++i) run[i] += in[i];
    }
    for (std::size_t i = 0; i < kColumns; ++i) sums[c + i] += run[i];
  }
  for (; c < channels; ++c) {
    float run = 0;
    for (std::size_t p = 0; p < count; ++p) run += pixels.data[p * pixels.stride + c];
    sums[c] += run;
  }
}

}  // namespace

void CopyPixels(ConstPixels from, Pixels to, std::size_t count, std::size_t channels) {
  if (from.stride == channels && to.stride == channels) {
    std::copy_n(from.data, count * channels, to.data);
    return;
  }
  for (std::size_t p = 0; p < count; ++p) {
    std::copy_n(from.data + p * from.stride, channels, to.data + p * to.stride);
  }
}

void AddPixels(ConstPixels from, Pixels to, std::size_t count, std::size_t channels) {
  for (std::size_t p = 0; p < count; ++p) {
    const float* in = from.data + p * from.stride;
    float* out = to.data + p * to.stride;
    std::size_t c = 0;
    for (; c + kColumns <= channels; c += kColumns) {
      for (std::size_t i = 0; i < kColumns; ++i) out[c + i] += in[c + i];
    }
    for (; c < channels; ++c) out[c] += in[c];
  }
}

void ReluPixels(Pixels pixels, std::size_t count, std::size_t channels) {
  for (std::size_t p = 0; p < count; ++p) {
    float* out = pixels.data + p * pixels.stride;
    std::size_t c = 0;
    for (; c + kColumns <= channels; c += kColumns) {
      for (std::size_t i = 0; i < kColumns; ++i) out[c + i] = out[c + i] < 0 ? 0 : out[c + i];
    }
    for (; c < channels; ++c) out[c] = out[c] < 0 ? 0 : out[c];
  }
}

void FinishPixels(Pixels pixels, std::size_t count, std::size_t channels, const float* bias,
                  bool relu) {
  if (bias != nullptr) AddPixels({.data = bias, .stride = 0}, pixels, count, channels);
  if (relu) ReluPixels(pixels, count, channels);
}

std::size_t ColumnSumFloats(std::size_t channels) { return kSumParts * channels; }

void ColumnSums(ConstPixels pixels, std::size_t count, std::size_t channels, bool accumulate,
                float* sums, float* workspace, Parallel& parallel) {
  const std::size_t part_pixels = (count + kSumParts - 1) / kSumParts;
  parallel.Run(kSumParts, [&](std::size_t part, std::size_t /*worker*/) {
    float* part_sums = workspace + part * channels;
    std::fill_n(part_sums, channels, 0.0F);
    const std::size_t end = std::min(count, (part + 1) * part_pixels);
    for (std::size_t p = std::min(count, part * part_pixels); p < end; p += kRun) {
      const ConstPixels run{.data = pixels.data + p * pixels.stride, .stride = pixels.stride};
      SumRun(run, std::min(kRun, end - p), channels, part_sums);
    }
  });
  if (!accumulate) std::fill_n(sums, channels, 0.0F);
  AddPixels({.data = workspace, .stride = channels}, {.data = sums, .stride = 0}, kSumParts,
            channels);
}

}  // namespace shoal::kernels
