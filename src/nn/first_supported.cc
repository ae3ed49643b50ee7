#include "nn/first_supported.h"

#include "nn/conv_support.h"

namespace shoal::nn {

const kernels::ConvImplementation& FirstSupported::Choose(const kernels::ConvShape& shape,
                                                          ConvDirection direction) {
  const auto rows = kernels::ConvImplementations();
  if (shape.groups == 1 || shape.groups != shape.channels) return rows.front();
  for (const kernels::ConvImplementation& row : rows) {
    if (row.name == "depthwise" && Supports(row, shape, direction, {})) return row;
  }
  return rows.front();
}

}  // namespace shoal::nn
