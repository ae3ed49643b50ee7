// Goal: every sample is somebody's, the next step is what was announced, and what was lost or
// undone is dealt out again.
#include "train/cluster/sample_dealer.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "train/cluster/sample_runs.h"

namespace shoal::train {
namespace {

constexpr std::array<NodeId, 2> kWorkers = {NodeId{2}, NodeId{3}};

SampleDealer Dealer() {
  wire::pb::TrainJob job;
  job.set_batch(8);
  job.set_unit(2);
  job.set_records(64);
  return {SamplePool(64, false, 0, {}), job};
}

std::set<std::int64_t> IndicesOf(const SampleDealer::Hands& hands) {
  std::set<std::int64_t> indices;
  for (const auto& [node, samples] : hands) {
    for (const Sample& sample : samples) EXPECT_TRUE(indices.insert(sample.index).second);
  }
  return indices;
}

TEST(SampleDealerTest, SharesAreUnitsAndTheNextStepIsAnnounced) {
  SampleDealer dealer = Dealer();
  const std::array<std::int64_t, 2> shares = {3, 1};
  const SampleDealer::Step first = dealer.Deal(shares, kWorkers);
  EXPECT_EQ(first.samples.at(kWorkers[0]).size(), 6U);
  EXPECT_EQ(first.samples.at(kWorkers[1]).size(), 2U);
  EXPECT_EQ(IndicesOf(first.samples), (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  const SampleDealer::Step second = dealer.Deal(shares, kWorkers);
  EXPECT_EQ(second.samples, first.next) << "whoever fetched a record gets it";
}

TEST(SampleDealerTest, WhoHasRecordsGetsThem) {
  SampleDealer dealer = Dealer();
  dealer.Note(kWorkers[0], std::array<std::int64_t, 4>{4, 5, 6, 7});
  dealer.Note(kWorkers[1], std::array<std::int64_t, 5>{0, 1, 2, 3, 1000});
  const std::array<std::int64_t, 2> shares = {2, 2};
  const SampleDealer::Step step = dealer.Deal(shares, kWorkers);
  EXPECT_EQ(step.samples.at(kWorkers[0]).front().index, 4);
  EXPECT_EQ(step.samples.at(kWorkers[1]).front().index, 0);
}

TEST(SampleDealerTest, WhatIsGivenBackIsDealtOutFirst) {
  SampleDealer dealer = Dealer();
  const std::array<std::int64_t, 2> shares = {2, 2};
  const SampleDealer::Step lost = dealer.Deal(shares, kWorkers);
  dealer.Commit(lost.samples.at(kWorkers[0]));
  dealer.GiveBack(lost.samples.at(kWorkers[1]));
  const std::set<std::int64_t> again = IndicesOf(dealer.Deal(shares, kWorkers).samples);
  for (const Sample& sample : lost.samples.at(kWorkers[1])) {
    EXPECT_TRUE(again.contains(sample.index));
  }
  for (const Sample& sample : lost.samples.at(kWorkers[0])) {
    EXPECT_FALSE(again.contains(sample.index));
  }
}

// Two epochs of a shuffled data set: in the second whoever has a record would get it, one by one.
TEST(SampleDealerTest, AMessageHasRoomForWhatAWorkerGets) {
  constexpr std::int64_t kRecords = 60000;
  wire::pb::TrainJob job;
  job.set_batch(kRecords);
  job.set_records(kRecords);
  job.set_shuffle(true);
  SampleDealer dealer(SamplePool(kRecords, true, 1, {}), job);
  const std::array<std::int64_t, 2> shares = {40000, 20000};
  for (int epoch = 0; epoch < 2; ++epoch) {
    const SampleDealer::Step step = dealer.Deal(shares, kWorkers);
    EXPECT_EQ(IndicesOf(step.samples).size(), static_cast<std::size_t>(kRecords));
    EXPECT_EQ(step.samples.at(kWorkers[0]).size(), 40000U);
    for (const auto& [node, samples] : step.samples) {
      EXPECT_LE(CountRuns(samples), 8192U) << "epoch " << epoch;
      dealer.Commit(samples);
    }
  }
}

TEST(SampleDealerTest, GoesBackToWhatTheKeeperHas) {
  SampleDealer dealer = Dealer();
  const std::array<std::int64_t, 2> shares = {2, 2};
  const auto train = [&] {
    const SampleDealer::Step step = dealer.Deal(shares, kWorkers);
    for (const auto& [node, samples] : step.samples) dealer.Commit(samples);
    return IndicesOf(step.samples);
  };
  const auto first = train();
  EXPECT_EQ(dealer.Keep().next.position, 8U);
  const auto second = train();
  EXPECT_NE(first, second);
  dealer.Rollback();
  EXPECT_EQ(train(), second);
}

}  // namespace
}  // namespace shoal::train
