#include "train/cluster/sample_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace shoal::train {
namespace {

// Far above what ever is out at once; a snapshot that has more is not of ours.
constexpr std::size_t kRunsMax = std::size_t{1} << 20U;
// Room for more epochs than anybody trains, and numbers do not overflow.
constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62U;

bool CanBe(data::Cursor at, std::uint64_t size) {
  return at.position < size && at.epoch < kNumberMax / size;
}

Status Wrong(const char* what) {
  return Status(Code::kCorruption, fmt::format("state of the sample pool: {}", what));
}

}  // namespace

SamplePool::SamplePool(std::int64_t size, bool shuffle, std::uint64_t seed, data::Cursor start)
    : size_(static_cast<std::uint64_t>(size)), order_(size, shuffle, seed), next_(NumberOf(start)) {
  SHOAL_CHECK(CanBe(start, size_));
}

Result<SamplePool> SamplePool::Restore(std::int64_t size, bool shuffle, std::uint64_t seed,
                                       const PoolState& state) {
  if (size < 1) return Wrong("an empty data set");
  if (!CanBe(state.next, static_cast<std::uint64_t>(size))) return Wrong("no such place");
  if (state.owed.size() > kRunsMax) return Wrong("too many runs");
  SamplePool pool(size, shuffle, seed, state.next);
  std::uint64_t after = 0;
  for (const SampleRun& run : state.owed) {
    if (!CanBe(run.first, pool.size_)) return Wrong("no such place");
    const std::uint64_t begin = pool.NumberOf(run.first);
    if (begin < after || run.count < 1) return Wrong("runs out of order");
    if (begin >= pool.next_ || run.count > pool.next_ - begin) return Wrong("runs beyond its end");
    after = begin + run.count;
    pool.back_.InsertRun(begin, after);
  }
  return pool;
}

std::vector<Sample> SamplePool::Take(std::size_t count) {
  std::vector<Sample> taken;
  taken.reserve(count);
  while (taken.size() < count) {
    std::uint64_t number = next_;
    if (back_.empty()) {
      ++next_;
    } else {
      number = back_.runs().begin()->first;
      back_.Erase(number);
    }
    out_.Insert(number);
    const data::Cursor at = CursorOf(number);
    taken.push_back({at, order_.IndexAt(at)});
  }
  return taken;
}

void SamplePool::GiveBack(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    if (!CanBe(sample.at, size_)) continue;
    if (out_.Erase(NumberOf(sample.at))) back_.Insert(NumberOf(sample.at));
  }
}

void SamplePool::Commit(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    if (CanBe(sample.at, size_)) out_.Erase(NumberOf(sample.at));
  }
}

PoolState SamplePool::state() const {
  PoolState state{.next = CursorOf(next_)};
  RunSet owed = back_;
  for (const auto& [begin, end] : out_.runs()) owed.InsertRun(begin, end);
  for (const auto& [begin, end] : owed.runs()) state.owed.push_back({CursorOf(begin), end - begin});
  return state;
}

CommitLedger::CommitLedger(std::int64_t size, data::Cursor start)
    : size_(static_cast<std::uint64_t>(size)), start_(start.epoch * size_ + start.position) {
  SHOAL_CHECK(size > 0 && CanBe(start, size_));
}

Status CommitLedger::Commit(std::span<const Sample> samples) {
  Status status;
  for (const Sample& sample : samples) {
    const auto& [epoch, position] = sample.at;
    const bool known = CanBe(sample.at, size_) && epoch * size_ + position >= start_;
    if (known && done_.Insert(epoch * size_ + position)) continue;
    if (!status.ok()) continue;
    status =
        Status(Code::kInvalidArgument, fmt::format("epoch {}, position {}: {}", epoch, position,
                                                   known ? "committed twice" : "no such sample"));
  }
  return status;
}

std::vector<SampleRun> CommitLedger::MissingOfFinishedEpochs(std::size_t runs_max) const {
  std::vector<SampleRun> missing;
  if (done_.empty()) return missing;
  const std::uint64_t last = std::prev(done_.runs().end())->second - 1;
  const std::uint64_t newest = last / size_ * size_;
  std::uint64_t from = start_;
  for (const auto& [begin, end] : done_.runs()) {
    const std::uint64_t until = std::min(begin, newest);
    if (missing.size() == runs_max || from >= newest) break;
    if (from < until) missing.push_back({{from / size_, from % size_}, until - from});
    from = end;
  }
  return missing;
}

}  // namespace shoal::train
