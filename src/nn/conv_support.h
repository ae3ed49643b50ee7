// Whether a row of the convolution table has a pass for a shape.
#pragma once

#include "kernels/conv.h"
#include "nn/conv_chooser.h"

namespace shoal::nn {

// Makes the pass and throws it away: milliseconds for rows that compile code.
bool Supports(const kernels::ConvImplementation& row, const kernels::ConvShape& shape,
              ConvDirection direction, const kernels::ConvOptions& options);

}  // namespace shoal::nn
