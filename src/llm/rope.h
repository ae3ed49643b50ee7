// Rope: turns pairs of numbers of a head by angles that grow with the position.
//
//   angle = position * frequency[i], one float multiplication; (x, y) becomes
//   (fma(x, cos, -(y * sin)), fma(y, cos, x * sin))
//
// with Cos and Sin of kernels/math.h, both times YaRN's magnitude. The same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "llm/model_config.h"

namespace shoal::llm {

class Rope {
 public:
  Rope() = default;
  explicit Rope(const RopeConfig& config);

  std::size_t pairs() const { return frequencies_.size(); }
  // Of one position: cosines, then sines. REQUIRES: table.size() == 2 * pairs().
  void FillTable(std::size_t position, std::span<float> table) const;
  // Turns one head. REQUIRES: head.size() >= 2 * pairs().
  void Turn(std::span<const float> table, std::span<float> head) const;

 private:
  std::vector<float> frequencies_;
  float magnitude_ = 1.0F;
  RopePairs kind_ = RopePairs::kNeighbours;
};

}  // namespace shoal::llm
