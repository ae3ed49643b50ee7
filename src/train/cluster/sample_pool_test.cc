#include "train/cluster/sample_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.h"

namespace shoal::train {
namespace {

std::vector<std::uint64_t> Positions(const std::vector<Sample>& samples) {
  std::vector<std::uint64_t> positions;
  for (const Sample& sample : samples) {
    positions.push_back(100 * sample.at.epoch + sample.at.position);
  }
  return positions;
}

using Numbers = std::vector<std::uint64_t>;

TEST(RunSet, IsASet) {
  RunSet runs;
  std::set<std::uint64_t> set;
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = random.Below(200);
    if (random.Chance(0.5)) {
      EXPECT_EQ(runs.Insert(number), set.insert(number).second);
    } else {
      EXPECT_EQ(runs.Erase(number), set.erase(number) == 1);
    }
    ASSERT_EQ(runs.size(), set.size());
    std::uint64_t sum = 0, last = 0;
    for (const auto& [begin, end] : runs.runs()) {
      ASSERT_LT(begin, end);
      ASSERT_TRUE(sum == 0 || begin > last) << "neighbours do not touch";
      sum += end - begin;
      last = end;
    }
    ASSERT_EQ(sum, set.size());
    EXPECT_EQ(runs.Contains(number), set.contains(number));
  }
}

TEST(SamplePool, TakesInOrderOverEpochs) {
  SamplePool pool(5, false, 1, {.epoch = 2, .position = 3});
  EXPECT_EQ(Positions(pool.Take(4)), (Numbers{203, 204, 300, 301}));
  EXPECT_EQ(pool.Take(0).size(), 0U);
  EXPECT_EQ(Positions(pool.Take(2)), (Numbers{302, 303}));
}

TEST(SamplePool, IndicesAreTheOrders) {
  SamplePool pool(7, true, 9, {});
  const data::SampleOrder order(7, true, 9);
  for (const Sample& sample : pool.Take(20)) EXPECT_EQ(sample.index, order.IndexAt(sample.at));
}

TEST(SamplePool, WhatIsGivenBackComesFirst) {
  SamplePool pool(100, false, 1, {});
  const std::vector<Sample> step = pool.Take(6);
  const std::vector<Sample> lost{step[4], step[1]};
  pool.GiveBack(lost);
  pool.GiveBack(lost);  // Twice changes nothing.
  pool.Commit(step);    // The lost ones are not out, and so not committed.
  EXPECT_EQ(Positions(pool.Take(4)), (Numbers{1, 4, 6, 7}));
  pool.GiveBack(std::vector<Sample>{step[0]});  // Is committed.
  EXPECT_EQ(Positions(pool.Take(1)), (Numbers{8}));
  const data::Cursor nowhere{~0ULL, 100};
  pool.GiveBack(std::vector<Sample>{{nowhere, 0}});
  pool.Commit(std::vector<Sample>{{nowhere, 0}});
  EXPECT_EQ(Positions(pool.Take(1)), (Numbers{9}));
}

TEST(SamplePool, StateHasWhatIsOwed) {
  SamplePool pool(10, false, 1, {});
  const std::vector<Sample> a = pool.Take(4), b = pool.Take(4), c = pool.Take(4);
  pool.Commit(b);
  pool.GiveBack(a);
  const PoolState state = pool.state();
  EXPECT_EQ(state, (PoolState{.next = {1, 2}, .owed = {{{0, 0}, 4}, {{0, 8}, 4}}}));
  auto restored = SamplePool::Restore(10, false, 1, state);
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  EXPECT_EQ(restored->state(), state);
  EXPECT_EQ(Positions(restored->Take(9)), (Numbers{0, 1, 2, 3, 8, 9, 100, 101, 102}));
}

TEST(SamplePool, RefusesStatesThatCannotBe) {
  const auto code = [](const PoolState& state, std::int64_t size = 10) {
    return SamplePool::Restore(size, false, 1, state).status().code();
  };
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{3, 0}, 5}}}), Code::kOk);
  EXPECT_EQ(code({.next = {3, 5}}, 0), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 10}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {~0ULL, 0}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{3, 0}, 6}}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{3, 0}, ~0ULL}}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{3, 6}, 1}}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{2, 0}, 0}}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{2, 10}, 1}}}), Code::kCorruption);
  EXPECT_EQ(code({.next = {3, 5}, .owed = {{{2, 0}, 3}, {{2, 2}, 3}}}), Code::kCorruption);
}

TEST(CommitLedger, TellsWhatIsTwiceAndWhatIsMissing) {
  CommitLedger ledger(10, {.epoch = 1, .position = 4});
  const auto commit = [&](std::vector<data::Cursor> places) {
    std::vector<Sample> samples;
    for (const data::Cursor at : places) samples.push_back({at, 0});
    return std::string(ledger.Commit(samples).message());
  };
  EXPECT_TRUE(ledger.MissingOfFinishedEpochs(10).empty());
  EXPECT_EQ(commit({{1, 4}, {1, 6}, {1, 5}, {1, 9}}), "");
  EXPECT_TRUE(ledger.MissingOfFinishedEpochs(10).empty()) << "epoch 1 may still go on";
  EXPECT_EQ(commit({{1, 5}, {2, 3}, {1, 6}}), "epoch 1, position 5: committed twice");
  EXPECT_EQ(ledger.MissingOfFinishedEpochs(10), (std::vector<SampleRun>{{{1, 7}, 2}}));
  EXPECT_EQ(commit({{1, 3}}), "epoch 1, position 3: no such sample");
  EXPECT_EQ(commit({{2, 10}}), "epoch 2, position 10: no such sample");
  EXPECT_EQ(commit({{3, 9}}), "");
  EXPECT_EQ(ledger.MissingOfFinishedEpochs(10),
            (std::vector<SampleRun>{{{1, 7}, 2}, {{2, 0}, 3}, {{2, 4}, 6}}));
  EXPECT_EQ(ledger.MissingOfFinishedEpochs(1).size(), 1U);
  EXPECT_EQ(ledger.committed(), 6U);
}

// Steps in flight, lost workers, snapshots that are restored, batches that straddle epochs.
TEST(SamplePool, EverySampleIsCommittedOnceWhateverIsLost) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const std::int64_t size = random.Between(1, 130) * 2 - 1;
    const data::Cursor start{random.Below(3), random.Below(static_cast<std::uint64_t>(size))};
    SamplePool pool(size, true, seed, start);
    CommitLedger ledger(size, start);
    PoolState saved = pool.state();
    CommitLedger saved_ledger = ledger;
    std::vector<std::vector<Sample>> flying;  // Parts of workers.
    for (int i = 0; i < 2000; ++i) {
      if (random.Chance(0.5)) flying.push_back(pool.Take(random.Below(50)));
      if (!flying.empty() && random.Chance(0.6)) {
        const std::size_t which = random.Below(flying.size());
        if (random.Chance(0.3)) {
          pool.GiveBack(flying[which]);
        } else {
          pool.Commit(flying[which]);
          ASSERT_EQ(ledger.Commit(flying[which]).ToString(), "ok");
        }
        flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (random.Chance(0.01)) {
        saved = pool.state();
        saved_ledger = ledger;
      }
      if (random.Chance(0.003)) {  // The head is restarted: what came after the snapshot is gone.
        pool = *SamplePool::Restore(size, true, seed, saved);
        ledger = saved_ledger;
        flying.clear();
      }
    }
    for (const auto& part : flying) pool.GiveBack(part);
    std::uint64_t owed = 0;
    for (const SampleRun& run : pool.state().owed) owed += run.count;
    const std::vector<Sample> rest = pool.Take(owed);
    ASSERT_EQ(ledger.Commit(rest).ToString(), "ok");
    EXPECT_TRUE(ledger.MissingOfFinishedEpochs(1).empty());
    const data::Cursor next = pool.state().next;
    const auto count = static_cast<std::uint64_t>(size);
    EXPECT_EQ(ledger.committed(),
              (next.epoch - start.epoch) * count + next.position - start.position);
  }
}

}  // namespace
}  // namespace shoal::train
