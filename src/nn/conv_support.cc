#include "nn/conv_support.h"

namespace shoal::nn {

bool Supports(const kernels::ConvImplementation& row, const kernels::ConvShape& shape,
              ConvDirection direction, const kernels::ConvOptions& options) {
  switch (direction) {
    case ConvDirection::kForward:
      return row.forward != nullptr && row.forward(shape, options) != nullptr;
    case ConvDirection::kBackwardData:
      return row.backward_data != nullptr && row.backward_data(shape, options) != nullptr;
    case ConvDirection::kBackwardWeights:
      return row.backward_weights != nullptr && row.backward_weights(shape, options) != nullptr;
  }
  return false;
}

}  // namespace shoal::nn
