// Sums over intervals of time that may overlap. Pure; thread-safe.
#pragma once

#include <vector>

#include "train/cluster/timeline.h"

namespace shoal::train {

// What at least one of them covers: in order, without overlaps, without empty ones.
// REQUIRES: no end before its begin.
std::vector<Interval> UnionOf(std::vector<Interval> intervals);
// What both cover. REQUIRES: in order and without overlaps, as from UnionOf.
std::vector<Interval> Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b);
// REQUIRES: without overlaps.
double LengthOf(const std::vector<Interval>& intervals);

// When a worker was getting ready or computing.
std::vector<Interval> BusyTimes(const WorkerStep& worker);

}  // namespace shoal::train
