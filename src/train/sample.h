// Sample: one image of the data set at its place in the endless sequence of samples, which decides
// its random crop.
#pragma once

#include <cstdint>

#include "data/sample_order.h"

namespace shoal::train {

struct Sample {
  data::Cursor at;
  std::int64_t index = 0;  // In the data set.
  bool operator==(const Sample&) const = default;
};

// So many samples in a row, over the ends of epochs too.
struct SampleRun {
  data::Cursor first{};
  std::uint64_t count = 0;
  bool operator==(const SampleRun&) const = default;
};

}  // namespace shoal::train
