#include "train/cluster/run_set.h"

#include <iterator>

#include "base/check.h"

namespace shoal::train {

RunSet::Runs::const_iterator RunSet::RunBefore(std::uint64_t number) const {
  const auto after = runs_.upper_bound(number);
  return after == runs_.begin() ? runs_.end() : std::prev(after);
}

bool RunSet::Contains(std::uint64_t number) const {
  const auto run = RunBefore(number);
  return run != runs_.end() && number < run->second;
}

bool RunSet::Insert(std::uint64_t number) {
  if (Contains(number)) return false;
  InsertRun(number, number + 1);
  return true;
}

void RunSet::InsertRun(std::uint64_t begin, std::uint64_t end) {
  SHOAL_CHECK_LT(begin, end);
  size_ += end - begin;
  const auto before = RunBefore(begin);
  if (before != runs_.end() && before->second == begin) {
    begin = before->first;
    runs_.erase(before);
  }
  if (const auto after = runs_.find(end); after != runs_.end()) {
    end = after->second;
    runs_.erase(after);
  }
  runs_.emplace(begin, end);
}

bool RunSet::Erase(std::uint64_t number) {
  const auto run = RunBefore(number);
  if (run == runs_.end() || number >= run->second) return false;
  const auto [begin, end] = *run;
  runs_.erase(run);
  if (begin < number) runs_.emplace(begin, number);
  if (number + 1 < end) runs_.emplace(number + 1, end);
  --size_;
  return true;
}

}  // namespace shoal::train
