// The steps of a network, and which values are computed again during backward instead of kept.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/graph.h"
#include "nn/plan.h"
#include "nn/views.h"

namespace shoal::nn {

struct Schedule {
  std::vector<Step> steps;
  std::size_t forward_steps = 0;
  std::vector<bool> again;  // Per value: backward reads the recomputed one.
};

// Nodes that are not cheap, but may be recomputed to save memory.
using ExtraNodes = std::vector<bool>;

// A value is recomputed if backward needs it, if all that it is made of is there anyway, and if
// its producer is cheap or `extra`. Values in one blob are recomputed together or not at all.
Schedule MakeSchedule(const Graph& graph, const std::vector<View>& views, const ExtraNodes& extra);

// The nodes that could be extra, the one that frees most for its work first. No node follows from
// another one of them: each can be recomputed from what is kept.
std::vector<std::size_t> ExtraCandidates(const Graph& graph, const std::vector<View>& views);

}  // namespace shoal::nn
