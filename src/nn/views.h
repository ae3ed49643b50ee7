// Views: values that are slices of the channels of another one, so that joining them costs nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/graph.h"

namespace shoal::nn {

// Where a value lies: in `root`, `channel` floats behind its start. A root lies in itself.
struct View {
  std::size_t root = 0;
  std::size_t channel = 0;
};

// One per value: an input of a Concat that has no other reader, and whose producer can write with
// a stride, lies in the output.
std::vector<View> FindViews(const Graph& graph);

}  // namespace shoal::nn
