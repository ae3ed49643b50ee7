// How large numbers get.
#pragma once

#include <span>

namespace shoal::kernels {

// The largest |value|; NaN if there is one; 0 for none.
float LargestMagnitude(std::span<const float> values);

}  // namespace shoal::kernels
