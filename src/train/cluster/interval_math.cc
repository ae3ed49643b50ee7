#include "train/cluster/interval_math.h"

#include <algorithm>
#include <utility>

namespace shoal::train {

std::vector<Interval> UnionOf(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return !(i.end > i.begin); });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> all;
  for (const Interval& next : intervals) {
    if (!all.empty() && next.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, next.end);
    } else {
      all.push_back(next);
    }
  }
  return all;
}

std::vector<Interval> Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const Interval part{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (part.end > part.begin) both.push_back(part);
    if (x->end < y->end) {
      ++x;
    } else {
      ++y;
    }
  }
  return both;
}

double LengthOf(const std::vector<Interval>& intervals) {
  double length = 0;
  for (const Interval& interval : intervals) length += interval.end - interval.begin;
  return length;
}

std::vector<Interval> BusyTimes(const WorkerStep& worker) {
  std::vector<Interval> busy = worker.compute;
  busy.push_back(worker.load);
  return UnionOf(std::move(busy));
}

}  // namespace shoal::train
