// Routing: which of several pipelines a new answer goes to. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace shoal::coordinator {

// A pipeline that runs and has room for the answer.
struct LineLoad {
  double predicted = 0;            // Seconds for a token, by the planner …
  std::optional<double> measured;  // … and as it was lately, if that is known.
  std::size_t stages = 1;
  std::size_t answers = 0;  // Under way.
  std::size_t positions_free = 0;
};

// What a token of one answer more is expected to take in each, in seconds. What has not been
// measured is predicted; predictions are off, but all by the same factor, which those that were
// measured tell.
std::vector<double> ExpectedSeconds(const std::vector<LineLoad>& loads);

// The one with the shortest wait; among those that are about as good, the one with the most room
// for keys and values. REQUIRES: there is one.
std::size_t ChooseLine(const std::vector<LineLoad>& loads);

}  // namespace shoal::coordinator
