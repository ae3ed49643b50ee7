// ConvChooser: which row of the convolution table (kernels/conv.h) computes a pass of a shape.
#pragma once

#include <cstdint>

#include "kernels/conv.h"

namespace shoal::nn {

enum class ConvDirection : std::uint8_t { kForward, kBackwardData, kBackwardWeights };

class ConvChooser {
 public:
  virtual ~ConvChooser() = default;

  // A row whose factory for `direction` makes a pass of `shape`. The same answer every time.
  virtual const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                                    ConvDirection direction) = 0;
};

}  // namespace shoal::nn
