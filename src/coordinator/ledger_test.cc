#include "coordinator/ledger.h"

#include <gtest/gtest.h>

#include <map>

#include "wire/row_hash.h"

namespace shoal::coordinator {
namespace {

constexpr NodeId kHead{1};
constexpr NodeId kFirst{2};
constexpr NodeId kSecond{3};
constexpr std::uint32_t kDim = 4;

const pipeline::Route kRoute = {.epoch = 9, .stages = {{kFirst, {0, 3}}, {kSecond, {3, 5}}}};

// Hashes of rows of one sequence: what is said of a position at a boundary.
std::vector<std::uint64_t> Hashes(std::uint64_t boundary, std::uint32_t begin,
                                  std::uint32_t count) {
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t p = begin; p < begin + count; ++p) hashes.push_back(1000 * boundary + p + 1);
  return hashes;
}

using Evasions = std::map<NodeId, Ledger::BatchName>;

class LedgerTest : public testing::Test {
 protected:
  wire::Batch Send(std::uint64_t step, std::uint32_t begin, std::uint32_t count,
                   const pipeline::Route& route = kRoute) {
    wire::Batch batch;
    batch.epoch = route.epoch;
    batch.step = step;
    batch.last = 1;
    batch.dim = kDim;
    batch.runs = {{.sequence = 7, .begin = begin, .count = count, .wanted = 1}};
    std::vector<std::int32_t> tokens;
    for (std::uint32_t p = begin; p < begin + count; ++p) {
      tokens.push_back(static_cast<std::int32_t>(p));
    }
    plans_[step] = wire::PlanHash(batch);
    ledger_.Sent(route, batch, tokens, Hashes(0, begin, count));
    return batch;
  }
  wire::pb::Receipts Receipt(std::uint64_t step, const std::vector<std::uint64_t>& given,
                             const std::vector<std::uint64_t>& made) {
    wire::pb::Receipts receipts;
    receipts.set_epoch(kRoute.epoch);
    receipts.add_steps(step);
    receipts.add_rows(static_cast<std::uint32_t>(given.size()));
    receipts.add_plans(plans_[step]);
    receipts.mutable_given()->Add(given.begin(), given.end());
    receipts.mutable_made()->Add(made.begin(), made.end());
    return receipts;
  }
  void Return(wire::Batch batch) {
    batch.stage = 2;
    batch.rows.assign(batch.RowsBack() * kDim, 1);
    (void)ledger_.Returned(batch);
  }
  std::vector<Dispute> Honest(NodeId node, std::uint64_t step, std::uint32_t begin,
                              std::uint32_t count) {
    const std::uint64_t in = node == kFirst ? 0 : 3;
    const std::uint64_t out = node == kFirst ? 3 : 5;
    return ledger_.Add(node, Receipt(step, Hashes(in, begin, count), Hashes(out, begin, count)));
  }

  Ledger ledger_{kHead};
  std::map<std::uint64_t, std::uint64_t> plans_;  // Of the last batches with these steps.
};

TEST_F(LedgerTest, WorkOfBothStagesCanBeComputedAgain) {
  Send(0, 0, 5);
  Send(1, 5, 1);
  for (const NodeId node : {kFirst, kSecond}) {
    EXPECT_TRUE(Honest(node, 0, 0, 5).empty());
    EXPECT_TRUE(Honest(node, 1, 5, 1).empty());
  }
  const std::vector<StageWork> works = ledger_.WorkOn(7);
  ASSERT_EQ(works.size(), 2U);
  EXPECT_EQ(works[0].node, kFirst);
  EXPECT_EQ(works[0].upstream, kHead);
  EXPECT_EQ(works[0].given, Hashes(0, 0, 6));
  EXPECT_EQ(works[0].made, Hashes(3, 0, 6));
  EXPECT_EQ(works[1].upstream, kFirst);
  EXPECT_EQ(works[1].upstream_made, works[1].given);
  EXPECT_EQ(ledger_.Tokens(7), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(ledger_.Evasive(7).empty());
  EXPECT_EQ(ledger_.accounted(), 6 * 5);
  ledger_.Forget(7);
  EXPECT_TRUE(ledger_.WorkOn(7).empty());
}

TEST_F(LedgerTest, GuessesThatWereWrongAreReplaced) {
  Send(0, 0, 4);
  Send(1, 2, 1);
  for (const NodeId node : {kFirst, kSecond}) {
    Honest(node, 0, 0, 4);
    ledger_.Add(node, Receipt(1, {77}, {88}));
  }
  const std::vector<StageWork> works = ledger_.WorkOn(7);
  ASSERT_EQ(works.size(), 2U);
  EXPECT_EQ(works[0].given, (std::vector<std::uint64_t>{1, 2, 77}));
}

// What a node's log must have held at once, and what may have pushed it out.
TEST_F(LedgerTest, RowsOfAllSequencesAreCounted) {
  Send(0, 0, 4);
  wire::Batch other;
  other.epoch = kRoute.epoch;
  other.step = 1;
  other.last = 1;
  other.dim = kDim;
  other.runs = {{.sequence = 8, .begin = 0, .count = 10, .wanted = 1}};
  ledger_.Sent(kRoute, other, std::vector<std::int32_t>(10), Hashes(0, 0, 10));
  Send(2, 2, 1);  // Two guesses were wrong.
  for (const NodeId node : {kFirst, kSecond}) {
    Honest(node, 0, 0, 4);
    Honest(node, 2, 2, 1);
  }
  EXPECT_EQ(ledger_.rows_sent(), 15U);
  ASSERT_EQ(ledger_.WorkOn(7).size(), 2U);
  EXPECT_EQ(ledger_.WorkOn(7)[1].rows_beside, 13U);
  ledger_.Forget(8);
  Send(3, 3, 1);
  EXPECT_EQ(ledger_.rows_sent(), 16U);
  for (const NodeId node : {kFirst, kSecond}) Honest(node, 3, 3, 1);
  EXPECT_EQ(ledger_.WorkOn(7)[1].rows_beside, 13U);
}

TEST_F(LedgerTest, WhoDoesNotAccountForWhatCameBackIsNamed) {
  const wire::Batch sent = Send(0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  EXPECT_TRUE(ledger_.Evasive(7).empty()) << "it may not have had it";
  Return(sent);
  EXPECT_EQ(ledger_.Evasive(7), (Evasions{{kSecond, {kRoute.epoch, 0}}}));
  ASSERT_EQ(ledger_.WorkOn(7).size(), 1U);
  Honest(kSecond, 0, 0, 4);
  EXPECT_TRUE(ledger_.Evasive(7).empty());
}

TEST_F(LedgerTest, NodesAccountInOrder) {
  const wire::Batch first = Send(0, 0, 4);
  const wire::Batch second = Send(1, 4, 1);
  Honest(kSecond, 1, 4, 1);
  EXPECT_FALSE(ledger_.Complete(7)) << "the first node may still account";
  Honest(kSecond, 0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  Honest(kFirst, 1, 4, 1);
  EXPECT_TRUE(ledger_.Complete(7));
  EXPECT_TRUE(ledger_.Evasive(7).empty());
  Return(first);
  Return(second);
  EXPECT_EQ(ledger_.Evasive(7), (Evasions{{kSecond, {kRoute.epoch, 0}}}))
      << "it must have had the first";
  const std::vector<StageWork> works = ledger_.WorkOn(7);
  ASSERT_EQ(works.size(), 1U) << "what it left out cannot be computed again";
  EXPECT_EQ(works[0].node, kFirst);
}

TEST_F(LedgerTest, ABatchThatWasLeftOutIsNamedWheneverItComesBack) {
  const wire::Batch first = Send(0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  Send(1, 4, 1);
  for (const bool returned : {false, true}) {
    if (returned) Return(first);
    Honest(kSecond, 1, 4, 1);
    EXPECT_EQ(ledger_.Evasive(7).size(), returned ? 1U : 0U);
  }
}

// An epoch that breaks leaves batches behind that some nodes never had.
TEST_F(LedgerTest, WhatNeverCameBackMayBeLeftOut) {
  Send(0, 0, 4);
  pipeline::Route later = kRoute;
  later.epoch = kRoute.epoch + 1;
  wire::Batch again = Send(0, 0, 4, later);
  for (const NodeId node : {kFirst, kSecond}) {
    wire::pb::Receipts receipts =
        Receipt(0, Hashes(node == kFirst ? 0 : 3, 0, 4), Hashes(node == kFirst ? 3 : 5, 0, 4));
    receipts.set_epoch(later.epoch);
    EXPECT_TRUE(ledger_.Add(node, receipts).empty());
  }
  Return(again);
  EXPECT_TRUE(ledger_.Complete(7));
  EXPECT_TRUE(ledger_.Evasive(7).empty());
  EXPECT_EQ(ledger_.WorkOn(7).size(), 2U);
}

TEST_F(LedgerTest, WhoWasGoneHasSaidNothing) {
  const wire::Batch first = Send(0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  Send(1, 4, 1);
  ledger_.Lost(kFirst);
  ledger_.Lost(kSecond);
  EXPECT_TRUE(ledger_.Complete(7));
  Return(first);
  EXPECT_TRUE(ledger_.Evasive(7).empty());
  EXPECT_TRUE(ledger_.WorkOn(7).empty());
}

TEST_F(LedgerTest, TheEndsOfALinkThatDisagreeAreBothNamed) {
  Send(0, 0, 4);
  EXPECT_TRUE(Honest(kFirst, 0, 0, 4).empty());
  std::vector<std::uint64_t> given = Hashes(3, 0, 4);
  given[2] ^= 1U;
  EXPECT_EQ(ledger_.Add(kSecond, Receipt(0, given, Hashes(5, 0, 4))),
            (std::vector<Dispute>{{kFirst, kSecond, 7}}));
}

TEST_F(LedgerTest, WhatTheHeadSawDecides) {
  wire::Batch passed = Send(0, 0, 2);
  passed.stage = 1;
  passed.rows = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint64_t> seen = wire::RowHashes(passed.rows, kDim);
  ledger_.Relayed(passed);
  EXPECT_TRUE(ledger_.Add(kFirst, Receipt(0, Hashes(0, 0, 2), seen)).empty());
  EXPECT_TRUE(ledger_.TakeContradicted().empty());
  EXPECT_TRUE(ledger_.Add(kSecond, Receipt(0, Hashes(3, 0, 2), Hashes(5, 0, 2))).empty());
  EXPECT_EQ(ledger_.TakeContradicted(), (std::vector<NodeId>{kSecond}));
}

TEST_F(LedgerTest, WhatTheHeadSawFirstIsWhatTheNextOneGot) {
  wire::Batch passed = Send(0, 0, 2);
  passed.stage = 1;
  passed.rows = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint64_t> seen = wire::RowHashes(passed.rows, kDim);
  ledger_.Relayed(passed);
  passed.rows[0] = 9;
  ledger_.Relayed(passed);
  ledger_.Add(kSecond, Receipt(0, seen, Hashes(5, 0, 2)));
  EXPECT_TRUE(ledger_.TakeContradicted().empty());
}

TEST_F(LedgerTest, WhatComesBackMustBeWhatWasSaid) {
  wire::Batch back = Send(0, 0, 3);
  back.stage = 2;
  back.rows = {1, 2, 3, 4};
  wire::Batch wrong = Send(1, 0, 3);
  wrong.stage = 2;
  wrong.rows = {9, 2, 3, 4};
  std::vector<std::uint64_t> made = Hashes(5, 0, 3);
  made[2] = wire::RowHash(back.rows);
  for (const std::uint64_t step : {0U, 1U}) {
    ledger_.Add(kSecond, Receipt(step, Hashes(3, 0, 3), made));
  }
  EXPECT_TRUE(ledger_.Returned(back).empty());
  EXPECT_EQ(ledger_.Returned(wrong), (std::vector<Dispute>{{kSecond, kHead, 7}}));
}

// A stage that shifts what it passes on makes the next one keep rows where they do not belong.
TEST_F(LedgerTest, WhoWasMisledHasSaidNothing) {
  Send(0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  Honest(kSecond, 0, 0, 4);
  EXPECT_EQ(ledger_.WorkOn(7).size(), 2U);
  Send(1, 4, 1);
  Honest(kFirst, 1, 4, 1);
  plans_[1] ^= 1U;
  EXPECT_EQ(Honest(kSecond, 1, 4, 1), (std::vector<Dispute>{{kFirst, kSecond, 7}}));
  EXPECT_EQ(ledger_.TakeMisled(), (std::vector<NodeId>{kSecond}));
  ASSERT_EQ(ledger_.WorkOn(7).size(), 1U);
  EXPECT_EQ(ledger_.WorkOn(7)[0].node, kFirst);
  EXPECT_TRUE(ledger_.Evasive(7).empty());
}

TEST_F(LedgerTest, WhatIsNotTheHeadsIsNotPassedOn) {
  for (const bool says_first : {false, true}) {
    wire::Batch passed = Send(says_first, 0, 2);
    passed.stage = 1;
    passed.rows.assign(2 * kDim, 1);
    wire::Batch other = passed;
    other.runs[0].begin = 1;
    const auto say = [&] { Honest(kFirst, says_first, 0, 2); };
    if (says_first) say();
    EXPECT_FALSE(ledger_.Relayed(other));
    if (!says_first) {
      EXPECT_TRUE(ledger_.TakeContradicted().empty()) << "it may have been misled";
      say();
    }
    EXPECT_EQ(ledger_.TakeContradicted(), (std::vector<NodeId>{kFirst}));
    EXPECT_TRUE(ledger_.Relayed(passed));
    EXPECT_FALSE(ledger_.Relayed(passed)) << "once";
    (void)ledger_.TakeContradicted();
  }
}

TEST_F(LedgerTest, NonsenseIsIgnored) {
  Send(0, 0, 4);
  EXPECT_TRUE(Honest(NodeId{99}, 0, 0, 4).empty());
  EXPECT_TRUE(Honest(kFirst, 5, 0, 4).empty());
  wire::pb::Receipts cut = Receipt(0, Hashes(0, 0, 4), Hashes(3, 0, 4));
  cut.mutable_made()->Truncate(2);
  EXPECT_TRUE(ledger_.Add(kFirst, cut).empty());
  wire::pb::Receipts huge = Receipt(0, Hashes(0, 0, 4), Hashes(3, 0, 4));
  huge.set_rows(0, 0xffffffffU);
  EXPECT_TRUE(ledger_.Add(kFirst, huge).empty());
  EXPECT_TRUE(Honest(kFirst, 0, 0, 3).empty()) << "another number of rows";
  EXPECT_TRUE(ledger_.TakeMisled().empty()) << "the head knows what it sent";
  EXPECT_TRUE(ledger_.WorkOn(7).empty());
}

// Another node took over in the middle: what it did from position 0 on is not all its own.
TEST_F(LedgerTest, OnlyWorkFromTheFirstPositionOnCounts) {
  Send(0, 0, 4);
  Honest(kFirst, 0, 0, 4);
  Honest(kSecond, 0, 0, 4);
  const NodeId other{4};
  pipeline::Route route = kRoute;
  route.stages[1].node = other;
  wire::Batch batch;
  batch.epoch = kRoute.epoch;
  batch.step = 1;
  batch.last = 1;
  batch.dim = kDim;
  batch.runs = {{.sequence = 7, .begin = 4, .count = 1, .wanted = 1}};
  plans_[1] = wire::PlanHash(batch);
  ledger_.Sent(route, batch, std::vector<std::int32_t>{4}, Hashes(0, 4, 1));
  Honest(kFirst, 1, 4, 1);
  ledger_.Add(other, Receipt(1, Hashes(3, 4, 1), Hashes(5, 4, 1)));
  const std::vector<StageWork> works = ledger_.WorkOn(7);
  ASSERT_EQ(works.size(), 1U);
  EXPECT_EQ(works[0].node, kFirst);
}

}  // namespace
}  // namespace shoal::coordinator
