// ConvChooser: which row of the table of convolutions a network uses for a shape. The tuner
// measures (kernels/conv_tuner.h); FirstSupported needs no time and is for tests and tools.
#pragma once

#include <cstdint>

#include "kernels/conv.h"

namespace shoal::nn {

enum class ConvDirection : std::uint8_t { kForward, kBackwardData, kBackwardWeights };

class ConvChooser {
 public:
  virtual ~ConvChooser() = default;
  // A row that supports the shape in that direction.
  virtual const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                                    ConvDirection direction) = 0;
};

}  // namespace shoal::nn
