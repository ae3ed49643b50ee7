// Single numbers through the functions of kernels/math.h, not libm's: the same bits on every
// device.
#pragma once

#include "base/parallel.h"
#include "kernels/math.h"

namespace shoal::llm::internal {

inline float Pow(float x, float y) {
  Serial serial;
  float z = 0;
  kernels::Pow({&x, 1}, {&y, 1}, {&z, 1}, serial);
  return z;
}

inline float Log(float x) {
  Serial serial;
  float y = 0;
  kernels::Log({&x, 1}, {&y, 1}, serial);
  return y;
}

}  // namespace shoal::llm::internal
