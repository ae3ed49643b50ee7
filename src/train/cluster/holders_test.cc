#include "train/cluster/holders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "train/cluster/sample_pool.h"

namespace shoal::train {
namespace {

using Parts = std::vector<std::vector<Sample>>;

// Steps over a pool; whoever gets a sample without its record is sent it, and keeps it.
struct Trainer {
  std::int64_t records;
  std::vector<NodeId> workers;
  std::vector<std::int64_t> shares;
  bool shuffle = false;
  Holders holders{records};
  SamplePool pool{records, shuffle, 7, {}};

  std::int64_t batch() const {
    std::int64_t sum = 0;
    for (const std::int64_t share : shares) sum += share;
    return sum;
  }

  // Records sent.
  std::int64_t Step() {
    std::vector<Sample> samples = pool.Take(static_cast<std::size_t>(batch()));
    const Parts parts = holders.Deal(samples, 1, shares, workers);
    std::int64_t sent = 0;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      EXPECT_EQ(static_cast<std::int64_t>(parts[w].size()), shares[w]);
      std::vector<std::int64_t> indices;
      for (const Sample& sample : parts[w]) {
        sent += holders.Holds(workers[w], sample.index) ? 0 : 1;
        indices.push_back(sample.index);
      }
      holders.Note(workers[w], indices);
    }
    pool.Commit(samples);
    return sent;
  }

  std::int64_t Epoch() {
    std::int64_t sent = 0;
    for (std::int64_t i = 0; i < records / batch(); ++i) sent += Step();
    return sent;
  }
};

TEST(Holders, SecondEpochMovesNothing) {
  Trainer trainer{
      .records = 1000, .workers = {NodeId{2}, NodeId{3}, NodeId{4}}, .shares = {20, 13, 7}};
  EXPECT_EQ(trainer.Epoch(), 1000);
  EXPECT_EQ(trainer.Epoch(), 0);
}

TEST(Holders, OnlyTheRecordsOfALostWorkerMove) {
  Trainer trainer{.records = 960,
                  .workers = {NodeId{2}, NodeId{3}, NodeId{4}, NodeId{5}},
                  .shares = {16, 16, 16, 16}};
  EXPECT_EQ(trainer.Epoch(), 960);
  trainer.holders.Forget(NodeId{4});
  trainer.workers = {NodeId{2}, NodeId{3}, NodeId{5}};
  trainer.shares = {22, 21, 21};
  EXPECT_EQ(trainer.Epoch(), 240);
  EXPECT_EQ(trainer.Epoch(), 0);
}

// In another order a step's samples are not held in the proportion of the shares, so that some must
// move; whoever got them keeps them, and there is ever more choice.
TEST(Holders, ShuffledEpochsMoveFewerAndFewer) {
  Trainer trainer{.records = 13'800, .workers = {}, .shares = {}, .shuffle = true};
  for (std::uint64_t i = 0; i < 69; ++i) {
    trainer.workers.push_back(NodeId{i + 2});
    trainer.shares.push_back(20);
  }
  EXPECT_EQ(trainer.Epoch(), 13'800);
  const std::int64_t second = trainer.Epoch();
  EXPECT_LT(second, 13'800 * 12 / 100);
  std::int64_t last = second;
  for (int epoch = 3; epoch <= 10; ++epoch) last = trainer.Epoch();
  EXPECT_LT(last, 13'800 * 4 / 100);
  RecordProperty("second", std::to_string(second));
  RecordProperty("tenth", std::to_string(last));
}

TEST(Holders, NeighboursStayTogetherAndInOrder) {
  const Holders holders(100);
  std::vector<Sample> samples;
  for (std::int64_t i = 0; i < 10; ++i) samples.push_back({{0, static_cast<std::uint64_t>(i)}, i});
  const Parts parts = holders.Deal(samples, 1, std::vector<std::int64_t>{3, 0, 7},
                                   std::vector{NodeId{2}, NodeId{3}, NodeId{4}});
  EXPECT_EQ(parts[0], (std::vector<Sample>(samples.begin(), samples.begin() + 3)));
  EXPECT_TRUE(parts[1].empty());
  EXPECT_EQ(parts[2], (std::vector<Sample>(samples.begin() + 3, samples.end())));
}

TEST(Holders, RemembersTheLatestTwo) {
  Holders holders(10);
  const std::vector<std::int64_t> three{3};
  for (const std::uint64_t node : {2U, 3U, 2U, 4U}) holders.Note(NodeId{node}, three);
  EXPECT_FALSE(holders.Holds(NodeId{2}, 3));
  EXPECT_TRUE(holders.Holds(NodeId{3}, 3) && holders.Holds(NodeId{4}, 3));
  holders.Forget(NodeId{4});
  EXPECT_TRUE(holders.Holds(NodeId{3}, 3));
  holders.Note(NodeId{5}, std::vector<std::int64_t>{-1, 10, 1'000'000'000'000});  // Nonsense.
  EXPECT_FALSE(holders.Holds(NodeId{5}, 10));
  EXPECT_FALSE(holders.Holds(NodeId{4}, 3)) << "another worker has its slot now";
}

TEST(Holders, SharesAreAlwaysExact) {
  Random random(4);
  Holders holders(500);
  for (int round = 0; round < 300; ++round) {
    std::vector<NodeId> workers;
    std::vector<std::int64_t> shares;
    std::int64_t batch = 0;
    for (std::uint64_t i = 0; i < 12; ++i) {
      if (random.Chance(0.1)) holders.Forget(NodeId{i});
      if (random.Chance(0.4)) continue;
      workers.push_back(NodeId{i});
      shares.push_back(random.Between(0, 9));
      batch += shares.back();
    }
    std::vector<Sample> samples;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::uint64_t position = random.Below(500);
      samples.push_back({{0, position}, static_cast<std::int64_t>(position)});
    }
    const Parts parts = holders.Deal(samples, 1, shares, workers);
    ASSERT_EQ(parts.size(), workers.size());
    std::vector<std::uint64_t> dealt, wanted;
    for (const Sample& sample : samples) wanted.push_back(sample.at.position);
    for (std::size_t w = 0; w < workers.size(); ++w) {
      ASSERT_EQ(static_cast<std::int64_t>(parts[w].size()), shares[w]);
      std::vector<std::int64_t> indices;
      for (const Sample& sample : parts[w]) {
        dealt.push_back(sample.at.position);
        indices.push_back(sample.index);
      }
      holders.Note(workers[w], indices);
    }
    std::sort(dealt.begin(), dealt.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(dealt, wanted);
  }
}

}  // namespace
}  // namespace shoal::train
