// How a sum over many elements is defined, so that its bits do not depend on vector width:
//
//   The operands are extended with +0 to a multiple of 16 elements. Lane j of 16 starts at +0 and
//   takes the elements j, j + 16, j + 32, … in this order: added for a sum, by fused multiply-add
//   for a product. Then the lanes are added as a tree: lane j and lane j + 8 for j < 8, lane j and
//   lane j + 4 for j < 4, lane j and lane j + 2 for j < 2, lane 0 and lane 1.
//
// This is the plain C++ of it, which `ref` uses; group-inl.h is the same for vectors.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace shoal::kernels {

// One AVX-512 vector, two of AVX2 and four of NEON: enough to fill each one's pipelines.
inline constexpr std::size_t kGroupLanes = 16;

// The length of n elements when extended to whole groups.
constexpr std::size_t WholeGroups(std::size_t n) {
  return (n + kGroupLanes - 1) / kGroupLanes * kGroupLanes;
}

class ScalarGroup {
 public:
  void Add(std::size_t i, float x) { lanes_[i % kGroupLanes] += x; }
  void AddProduct(std::size_t i, float x, float y) {
    float& lane = lanes_[i % kGroupLanes];
    lane = std::fma(x, y, lane);
  }
  // Adds the lanes up; call it last.
  float Tree() {
    for (std::size_t half = kGroupLanes / 2; half > 0; half /= 2) {
      for (std::size_t j = 0; j < half; ++j) lanes_[j] += lanes_[j + half];
    }
    return lanes_[0];
  }

 private:
  std::array<float, kGroupLanes> lanes_{};
};

// The larger of two, where NaN is larger than everything and stays.
inline float MaxOrNaN(float max, float x) { return x > max || x != x ? x : max; }

}  // namespace shoal::kernels
