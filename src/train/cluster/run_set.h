// RunSet: a set of numbers that come mostly in a row, as the runs that they make. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace shoal::train {

class RunSet {
 public:
  // False: it was there already. REQUIRES: below 2^64 - 1.
  bool Insert(std::uint64_t number);
  // False: it was not there.
  bool Erase(std::uint64_t number);
  // begin up to end - 1; none may be there yet. REQUIRES: begin < end.
  void InsertRun(std::uint64_t begin, std::uint64_t end);

  bool Contains(std::uint64_t number) const;
  bool empty() const { return runs_.empty(); }
  // How many numbers.
  std::uint64_t size() const { return size_; }
  // From begin up to end - 1, in order; neighbours do not touch.
  const std::map<std::uint64_t, std::uint64_t>& runs() const { return runs_; }

 private:
  using Runs = std::map<std::uint64_t, std::uint64_t>;  // End by begin.

  // The run with the last begin that is not after `number`; runs_.end(): there is none.
  Runs::const_iterator RunBefore(std::uint64_t number) const;

  Runs runs_;
  std::uint64_t size_ = 0;
};

}  // namespace shoal::train
