// Local response normalisation, Caffe's two kinds, forward and backward. See rows.h. Backward
// passes compute the scale anew from x: nothing has to be kept. Outputs overlap no input.
#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

inline constexpr std::size_t kLrnSizeMax = 129;

struct LrnParams {
  std::size_t size = 5;  // Odd, at most kLrnSizeMax across channels.
  float alpha = 1;
  float beta = 0.75F;
  float k = 1;  // Across channels only.
};

// y = x * scale^-beta, scale = k + alpha / size * the sum of x^2 over the `size` channels around.
void LrnAcrossChannels(const LrnParams& params, ConstRows x, Rows y, Parallel& parallel,
                       Target target = BestTarget());
// dx = the gradient by x, or with `accumulate` dx += it.
void LrnAcrossChannelsBackward(const LrnParams& params, ConstRows x, ConstRows dy, Rows dx,
                               bool accumulate, Parallel& parallel, Target target = BestTarget());

// What the rows are the pixels of.
struct LrnImages {
  std::size_t batch;
  std::size_t height;
  std::size_t width;
};
// Scratch for either pass within channels.
std::size_t LrnWithinChannelScratchFloats(const LrnImages& images, std::size_t channels);

// y = x * scale^-beta, scale = 1 + alpha * the average of x^2 over the window of size by size
// pixels around, divided as AveragePool of pooling.h does.
void LrnWithinChannel(const LrnParams& params, const LrnImages& images, ConstRows x, Rows y,
                      std::span<float> scratch, Parallel& parallel, Target target = BestTarget());
void LrnWithinChannelBackward(const LrnParams& params, const LrnImages& images, ConstRows x,
                              ConstRows dy, Rows dx, bool accumulate, std::span<float> scratch,
                              Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
