// Goal: collectives over a network give what their schedules say, bit for bit, whatever arrives
// when; what does not fit is an error that names its sender; a lost member costs nothing but its
// part. Method: communicators in a simulated world with jitter and loss, against the interpreter.
#include "collective/communicator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "collective/interpreter_for_test.h"
#include "collective/members_for_test.h"

namespace shoal::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::size_t> kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};

Numbers Scaled(Numbers data, const std::vector<float>& scales) {
  for (std::size_t rank = 0; rank < data.size(); ++rank) {
    for (float& value : data[rank]) value = scales[rank] * value;
  }
  return data;
}

Schedule ScheduleOf(const AllReduceOptions& options, Place place, std::size_t elements,
                    const std::vector<std::vector<std::uint32_t>>& switches) {
  switch (options.algorithm) {
    case Algorithm::kRing:
      return RingAllReduce(place, elements, options.pieces);
    case Algorithm::kHalvingDoubling:
      return HalvingDoublingAllReduce(place, elements);
    case Algorithm::kHierarchical:
      return HierarchicalAllReduce(place, elements, options.pieces, switches);
  }
  return {};
}

class AllReduceTest : public testing::TestWithParam<Algorithm> {};

TEST_P(AllReduceTest, GivesTheBitsOfItsScheduleWhateverArrivesWhen) {
  for (const std::size_t ranks : kSizes) {
    std::vector<std::vector<std::uint32_t>> switches(ranks < 3 ? 1 : 3);
    std::vector<std::size_t> all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      switches[rank % switches.size()].push_back(rank);
      all.push_back(rank);
    }
    for (const std::size_t elements : {0UL, 1UL, ranks - 1, ranks + 1, 1000UL, 20011UL}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements");
      Members members(ranks, Unkind(ranks * 100 + elements));
      members.MakeEpoch(2, all, switches);
      AllReduceOptions options = {.algorithm = GetParam(),
                                  .pieces = {.elements = 300, .ahead = 3},
                                  .wire = WireType::kF32,
                                  .scale = 1};
      members.Dial(options);
      const Numbers given = RandomNumbers(ranks, elements, elements);
      const Numbers before = given;
      std::vector<float> scales;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        scales.push_back(0.1F + 0.01F * static_cast<float>(rank));
      }
      Numbers output(ranks, std::vector<float>(elements, -7));
      Outcomes outcomes(ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        options.scale = scales[rank];
        members.at(rank).AllReduce(given[rank], output[rank], options, outcomes.Of(rank));
        EXPECT_FALSE(outcomes[rank].has_value()) << "done inside the call";
      }
      ASSERT_TRUE(members.RunUntil([&] { return outcomes.AllDone(); }));
      EXPECT_TRUE(outcomes.AllOk());
      const auto schedules = AllSchedules(
          ranks, [&](Place place) { return ScheduleOf(options, place, elements, switches); });
      const Interpreted expected = Interpreter(schedules, Scaled(given, scales)).Run();
      for (const auto& result : output) ExpectBits(result, expected.data[0]);
      EXPECT_EQ(given, before);
      ExpectNothingRefused(members);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AllReduceTest,
                         testing::Values(Algorithm::kRing, Algorithm::kHalvingDoubling,
                                         Algorithm::kHierarchical));

TEST(CommunicatorTest, TheOtherCollectivesDoWhatTheySay) {
  for (const std::size_t ranks : kSizes) {
    for (const std::size_t elements : {0UL, 1UL, ranks + 1, 200'001UL}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements");
      Members members(ranks, Unkind(ranks + elements));
      const std::size_t root = ranks / 2;
      const Numbers given = RandomNumbers(ranks, elements, 1);
      Numbers broadcast = given;
      Numbers gathered = given;
      Numbers reduced(ranks, std::vector<float>(elements));
      std::vector<std::uint64_t> begins;
      for (std::size_t i = 0; i <= ranks; ++i) begins.push_back(elements * i * i / ranks / ranks);
      Outcomes first(ranks);
      Outcomes second(ranks);
      Outcomes third(ranks);
      Outcomes fourth(ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        members.at(rank).Broadcast(broadcast[rank], root, first.Of(rank));
        members.at(rank).Reduce(given[rank], reduced[rank], root, second.Of(rank));
        members.at(rank).AllGather(gathered[rank], begins, third.Of(rank));
        members.at(rank).Barrier(fourth.Of(rank));
      }
      members.Dial();
      ASSERT_TRUE(members.RunUntil([&] {
        return first.AllDone() && second.AllDone() && third.AllDone() && fourth.AllDone();
      }));
      EXPECT_TRUE(first.AllOk() && second.AllOk() && third.AllOk() && fourth.AllOk());
      const auto schedules =
          AllSchedules(ranks, [&](Place place) { return ChainReduce(place, elements, root, {}); });
      ExpectBits(reduced[root], Interpreter(schedules, given).Run().data[root]);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        ExpectBits(broadcast[rank], given[root]);
        for (std::size_t owner = 0; owner < ranks; ++owner) {
          for (std::uint64_t i = begins[owner]; i < begins[owner + 1]; ++i) {
            ASSERT_EQ(gathered[rank][i], given[owner][i]);
          }
        }
      }
      ExpectNothingRefused(members);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CommunicatorTest, SeveralAtOnceBegunAtAnyTimesDoNotMeet) {
  constexpr std::size_t kRanks = 5;
  constexpr std::size_t kCount = 12;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Members members(kRanks, Unkind(seed));
    const AllReduceOptions options = {.algorithm = Algorithm::kRing,
                                      .pieces = {.elements = 50, .ahead = 2},
                                      .wire = WireType::kF32,
                                      .scale = 1};
    std::vector<Numbers> given;
    std::vector<Numbers> output;
    std::vector<Outcomes> outcomes(kCount, Outcomes(kRanks));
    for (std::size_t i = 0; i < kCount; ++i) {
      given.push_back(RandomNumbers(kRanks, 300 + i, seed + i));
      output.emplace_back(kRanks, std::vector<float>(300 + i));
    }
    Random random(seed);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      Duration at{0};
      for (std::size_t i = 0; i < kCount; ++i) {
        at += milliseconds(random.Below(30));
        members.world().SurroundingsOf(Members::Id(rank)).clock.CallAfter(at, [&, rank, i] {
          AllReduceOptions these = options;
          if (i % 3 == 1) these.algorithm = Algorithm::kHalvingDoubling;
          if (i % 3 == 2) these.wire = WireType::kF16;
          members.at(rank).AllReduce(given[i][rank], output[i][rank], these, outcomes[i].Of(rank));
        });
      }
    }
    AllReduceOptions all = options;
    all.wire = WireType::kF16;  // Whom the butterfly needs, too.
    members.Dial(all);
    ASSERT_TRUE(members.RunUntil([&] {
      return std::all_of(outcomes.begin(), outcomes.end(), [](auto& o) { return o.AllDone(); });
    })) << seed;
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_TRUE(outcomes[i].AllOk());
      for (const auto& result : output[i]) ExpectBits(result, output[i][0]);
      if (i % 3 != 0) continue;
      const auto schedules = AllSchedules(
          kRanks, [&](Place place) { return RingAllReduce(place, 300 + i, options.pieces); });
      ExpectBits(output[i][0], Interpreter(schedules, given[i]).Run().data[0]);
    }
    ExpectNothingRefused(members);
  }
}

// Far more than may come early or wait in a queue, with one rank that begins late.
TEST(CommunicatorTest, AMemberThatBeginsLateHoldsTheOthersUpAndLosesNothing) {
  constexpr std::size_t kRanks = 3;
  constexpr std::size_t kElements = 3 << 20U;
  constexpr std::size_t kCount = 12;
  Members members(kRanks, {.seed = 1, .faults = {}, .link = {.bits_per_second = 1e10}});
  members.Dial({.algorithm = Algorithm::kRing});
  const Numbers given = RandomNumbers(kRanks, kElements, 7);
  std::vector<Numbers> output(kCount, Numbers(kRanks, std::vector<float>(kElements)));
  std::vector<Outcomes> outcomes(kCount, Outcomes(kRanks));
  const auto begin = [&](std::size_t rank, std::size_t i) {
    const Algorithm algorithm = i % 2 == 0 ? Algorithm::kRing : Algorithm::kHalvingDoubling;
    members.at(rank).AllReduce(given[rank], output[i][rank],
                               {.algorithm = algorithm, .pieces = {.elements = 0, .ahead = 1}},
                               outcomes[i].Of(rank));
  };
  members.world().RunFor(seconds(1));
  for (std::size_t i = 0; i < kCount; ++i) begin(0, i);
  members.world().RunFor(seconds(1));
  // To each of two others.
  EXPECT_LE(members.at(0).bytes_sent(), 2U * (8U << 20U));
  for (std::size_t i = 0; i < kCount; ++i) begin(1, i);
  members.world().RunFor(seconds(1));
  for (std::size_t i = 0; i < kCount; ++i) {
    begin(2, i);
    ASSERT_TRUE(members.RunUntil([&] { return outcomes[i].AllDone(); })) << i;
  }
  for (std::size_t i = 2; i < kCount; ++i) {
    for (const auto& result : output[i]) ExpectBits(result, output[i % 2][0]);
  }
  ExpectNothingRefused(members);
}

}  // namespace
}  // namespace shoal::collective
