// What the implementations of QuantMatMul are given: eight rows of weights and up to four columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_weights.h"

namespace shoal::kernels {

inline constexpr std::size_t kTileColumns = 4;

struct QuantTile {
  const std::uint8_t* w;  // A group of PackedWeights.
  std::size_t chunks;
  std::size_t columns;  // 1 to kTileColumns.
  const std::int8_t* q[kTileColumns];
  const float* scales[kTileColumns];
  const std::int16_t* sums[kTileColumns];
  float* y[kTileColumns];  // Eight results each.
};

using QuantTileKernel = void(PackedForm, const QuantTile&);

}  // namespace shoal::kernels
