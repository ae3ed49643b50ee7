#include "kernels/largest_magnitude.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/parallel.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"

namespace shoal::kernels {
namespace {

// Both passes over a block find it in the first-level cache.
constexpr std::size_t kBlock = 2048;

}  // namespace

float LargestMagnitude(std::span<const float> values) {
  Serial serial;
  std::array<float, kBlock> scratch;
  float largest = 0;
  while (!values.empty()) {
    const std::span<const float> block = values.first(std::min(kBlock, values.size()));
    const std::span<float> negative = std::span(scratch).first(block.size());
    Scale(-1, block, negative, serial);
    for (const float m : {Max(block), Max(negative)}) {
      if (std::isnan(m)) return m;
      largest = std::max(largest, m);
    }
    values = values.subspan(block.size());
  }
  return largest;
}

}  // namespace shoal::kernels
