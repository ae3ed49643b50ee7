// Goal: every schedule does what its name says, for any number of ranks and elements, with the same
// bits on all ranks, without waiting in a circle, and with the messages that theory promises.
// Method: the schedules of all ranks are run together by an interpreter of a page.
#include "collective/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "collective/interpreter_for_test.h"

namespace shoal::collective {
namespace {

using Numbers = std::vector<std::vector<float>>;
using Groups = std::vector<std::vector<std::uint32_t>>;

const std::vector<std::size_t> kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 138};

std::vector<std::size_t> ElementCounts(std::size_t ranks) {
  std::vector<std::size_t> counts = {0, 1, 2, ranks - 1, ranks, ranks + 1, 37, 331};
  if (ranks < 20) counts.push_back(1009);
  return counts;
}

const std::vector<Pieces> kPieces = {{.elements = 0, .ahead = 1},   {.elements = 1, .ahead = 1},
                                     {.elements = 1, .ahead = 3},   {.elements = 7, .ahead = 2},
                                     {.elements = 10, .ahead = 16}, {.elements = 64, .ahead = 0}};

Numbers RandomNumbers(std::size_t ranks, std::size_t elements, std::uint64_t seed) {
  Numbers data(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Random random(seed, rank);
    for (std::size_t i = 0; i < elements; ++i) {
      data[rank].push_back(static_cast<float>(random.Normal()));
    }
  }
  return data;
}

void ExpectBits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
  }
}

void ExpectSums(const Numbers& given, const std::vector<float>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double sum = 0;
    double magnitude = 0;
    for (const std::vector<float>& numbers : given) {
      sum += static_cast<double>(numbers[i]);
      magnitude += std::abs(static_cast<double>(numbers[i]));
    }
    ASSERT_NEAR(static_cast<double>(sums[i]), sum, 1e-6 * magnitude) << i;
  }
}

void ExpectWhole(const Interpreted& result) {
  ASSERT_TRUE(result.finished);
  ASSERT_TRUE(result.agreed);
  ASSERT_TRUE(result.all_received);
}

bool IsSend(const Action& action) { return action.kind == ActionKind::kSend; }

// Runs it in two orders; all ranks must have one result, whatever came when.
Interpreted ExpectAllReduce(const std::vector<Schedule>& schedules, const Numbers& given) {
  Interpreted result = Interpreter(schedules, given).Run();
  const Interpreted backwards = Interpreter(schedules, given).Run(true);
  ExpectWhole(result);
  ExpectWhole(backwards);
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    ExpectBits(result.data[rank], result.data[0]);
    ExpectBits(backwards.data[rank], result.data[0]);
  }
  ExpectSums(given, result.data[0]);
  return result;
}

template <class Check>
void ForAll(Check check) {
  for (const std::size_t ranks : kSizes) {
    for (const std::size_t elements : ElementCounts(ranks)) {
      for (const Pieces& pieces : kPieces) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) +
                     " elements in pieces of " + std::to_string(pieces.elements) + ", " +
                     std::to_string(pieces.ahead) + " ahead");
        check(ranks, elements, pieces);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(RingTest, AddsUpChunkByChunkInTheOrderOfTheRing) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    const auto schedules =
        AllSchedules(ranks, [&](Place place) { return RingAllReduce(place, elements, pieces); });
    const Numbers given = RandomNumbers(ranks, elements, ranks + elements);
    const Interpreted result = ExpectAllReduce(schedules, given);
    // Chunk c begins at rank c.
    for (std::size_t chunk = 0; chunk < ranks; ++chunk) {
      for (std::size_t i = elements * chunk / ranks; i < elements * (chunk + 1) / ranks; ++i) {
        float sum = given[chunk][i];
        for (std::size_t k = 1; k < ranks; ++k) sum = sum + given[(chunk + k) % ranks][i];
        ASSERT_EQ(sum, result.data[0][i]) << i;
      }
    }
  });
}

TEST(RingTest, MovesNoMoreThanItMust) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    const auto schedules =
        AllSchedules(ranks, [&](Place place) { return RingAllReduce(place, elements, pieces); });
    const Interpreted result = Interpreter(schedules, RandomNumbers(ranks, elements, 1)).Run();
    std::uint64_t total = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      total += result.elements_sent[rank];
      const std::size_t chunk = (elements + ranks - 1) / ranks;
      const std::size_t messages =
          pieces.elements == 0 || chunk == 0 ? 1 : (chunk + pieces.elements - 1) / pieces.elements;
      EXPECT_EQ(result.messages_sent[rank], 2 * (ranks - 1) * messages);
      EXPECT_LE(result.elements_sent[rank], 2 * (ranks - 1) * chunk);
    }
    EXPECT_EQ(total, 2 * (ranks - 1) * elements);
  });
}

TEST(RingTest, PassesEachPieceOnAtOnceAndRunsAheadAsFarAsItMay) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    if (ranks == 1) return;
    const Schedule schedule = RingAllReduce({.rank = 1, .size = ranks}, elements, pieces);
    const auto first = std::find_if_not(schedule.begin(), schedule.end(), IsSend);
    EXPECT_LE(static_cast<std::size_t>(first - schedule.begin()),
              std::max<std::size_t>(pieces.ahead, 1));
    std::size_t passed_on = 0;
    for (auto it = first; it != schedule.end(); ++it) {
      const auto next = it + 1;
      if (IsSend(*it)) {
        ASSERT_FALSE(IsSend(*(it - 1)));  // One for one: no more under way than at first.
      } else if (next != schedule.end() && IsSend(*next) && next->begin == it->begin &&
                 next->end == it->end) {
        ++passed_on;
      }
    }
    const auto received = static_cast<std::size_t>(
        std::count_if(schedule.begin(), schedule.end(), std::not_fn(IsSend)));
    // All but what came in the last step.
    EXPECT_GE(passed_on, received / (2 * (ranks - 1)) * (2 * (ranks - 1) - 1));
  });
}

TEST(HalvingDoublingTest, AddsUpInFewSteps) {
  for (const std::size_t ranks : kSizes) {
    for (const std::size_t elements : ElementCounts(ranks)) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements");
      const auto schedules = AllSchedules(
          ranks, [&](Place place) { return HalvingDoublingAllReduce(place, elements); });
      const Interpreted result =
          ExpectAllReduce(schedules, RandomNumbers(ranks, elements, ranks * elements));
      const std::size_t core = std::bit_floor(ranks);
      const auto steps = 2 * static_cast<std::size_t>(std::countr_zero(core));
      std::uint64_t total = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(result.messages_sent[rank], steps + 1);
        total += result.elements_sent[rank];
      }
      EXPECT_EQ(total, 2 * (core - 1) * elements + 2 * (ranks - core) * elements);
    }
  }
}

Groups GroupsOf(std::size_t ranks, std::size_t each) {
  Groups groups;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank % each == 0) groups.emplace_back();
    groups.back().push_back(static_cast<std::uint32_t>(rank));
  }
  return groups;
}

TEST(HierarchicalTest, AddsUpForGroupsOfAnySize) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    for (const std::size_t each : {1, 2, 3, 5, 24, 1000}) {
      const Groups groups = GroupsOf(ranks, each);
      const auto schedules = AllSchedules(ranks, [&](Place place) {
        return HierarchicalAllReduce(place, elements, pieces, groups);
      });
      ExpectAllReduce(schedules, RandomNumbers(ranks, elements, each));
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(HierarchicalTest, CrossesSwitchesWithOnePartOnly) {
  const Groups groups = {{0, 2, 4, 6}, {1, 3, 5, 7}};
  for (std::size_t rank = 0; rank < 8; ++rank) {
    std::uint64_t across = 0;
    std::uint64_t within = 0;
    for (const Action& action : HierarchicalAllReduce({rank, 8}, 8000, {}, groups)) {
      if (action.kind != ActionKind::kSend) continue;
      (action.peer % 2 == rank % 2 ? within : across) += action.end - action.begin;
    }
    EXPECT_EQ(across, 2000U);  // 2 (2 - 1) / 2 of a quarter.
    EXPECT_EQ(within, 12000U);
  }
}

TEST(HierarchicalTest, KnowsWhatGroupsAre) {
  EXPECT_TRUE(AreGroups(3, Groups{{2, 0}, {1}}));
  EXPECT_FALSE(AreGroups(3, Groups{{0}, {1}}));
  EXPECT_FALSE(AreGroups(3, Groups{{0, 1}, {1, 2}}));
  EXPECT_FALSE(AreGroups(3, Groups{{0, 1, 2}, {}}));
  EXPECT_FALSE(AreGroups(3, Groups{{0, 1, 3}}));
}

TEST(ChainTest, BroadcastGivesEverybodyTheBitsOfTheRoot) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    for (const std::size_t root : {std::size_t{0}, ranks / 2, ranks - 1}) {
      const auto schedules = AllSchedules(
          ranks, [&](Place place) { return ChainBroadcast(place, elements, root, pieces); });
      const Numbers given = RandomNumbers(ranks, elements, 3);
      const Interpreted result = Interpreter(schedules, given).Run();
      ExpectWhole(result);
      for (const auto& data : result.data) ExpectBits(data, given[root]);
      const std::uint64_t total = std::accumulate(result.elements_sent.begin(),
                                                  result.elements_sent.end(), std::uint64_t{0});
      ASSERT_EQ(total, (ranks - 1) * elements);
    }
  });
}

TEST(ChainTest, ReduceAddsUpTowardsTheRoot) {
  ForAll([](std::size_t ranks, std::size_t elements, const Pieces& pieces) {
    for (const std::size_t root : {std::size_t{0}, ranks / 2, ranks - 1}) {
      const auto schedules = AllSchedules(
          ranks, [&](Place place) { return ChainReduce(place, elements, root, pieces); });
      const Numbers given = RandomNumbers(ranks, elements, 4);
      const Interpreted result = Interpreter(schedules, given).Run();
      ExpectWhole(result);
      for (std::size_t i = 0; i < elements; ++i) {
        float sum = given[(root + ranks - 1) % ranks][i];
        for (std::size_t k = 2; k <= ranks; ++k) {
          sum = sum + given[(root + 2 * ranks - k) % ranks][i];
        }
        ASSERT_EQ(sum, result.data[root][i]) << i;
      }
    }
  });
}

TEST(ChainTest, TheFirstIsHeldUpByWhoeverIsSlow) {
  // The others do nothing: the root sends as much as it may.
  std::vector<Schedule> schedules(3);
  const Pieces pieces = {.elements = 10, .ahead = 4};
  schedules[0] = ChainBroadcast({0, 3}, 1000, 0, pieces);
  const Interpreted result = Interpreter(schedules, RandomNumbers(3, 1000, 5)).Run();
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.messages_sent[0], 4U);
}

TEST(AllGatherTest, EverybodyGetsAllPartsHoweverUnequal) {
  for (const std::size_t ranks : kSizes) {
    for (const Pieces& pieces : kPieces) {
      for (std::size_t how = 0; how < 3; ++how) {
        std::vector<std::uint64_t> begins = {how};  // What is before the first stays as it is.
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const std::size_t lengths[] = {3, rank == ranks / 2 ? 100U : 0U, rank % 5};
          begins.push_back(begins.back() + lengths[how]);
        }
        const Numbers given = RandomNumbers(ranks, begins.back() + 1, 6);
        const auto schedules =
            AllSchedules(ranks, [&](Place place) { return RingAllGather(place, begins, pieces); });
        const Interpreted result = Interpreter(schedules, given).Run();
        ExpectWhole(result);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          std::vector<float> expected = given[rank];
          for (std::size_t owner = 0; owner < ranks; ++owner) {
            for (std::uint64_t i = begins[owner]; i < begins[owner + 1]; ++i) {
              expected[i] = given[owner][i];
            }
          }
          ExpectBits(result.data[rank], expected);
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Nobody can have left while one has not come: with one rank standing still, none finishes.
TEST(BarrierTest, NobodyLeavesBeforeEverybodyHasCome) {
  for (const std::size_t ranks : kSizes) {
    const auto schedules = AllSchedules(ranks, [](Place place) { return Barrier(place); });
    ExpectWhole(Interpreter(schedules, Numbers(ranks)).Run());
    for (std::size_t late = 0; late < ranks && ranks > 1; ++late) {
      auto without = schedules;
      without[late].insert(without[late].begin(),
                           {ActionKind::kReceiveCopy, static_cast<std::uint32_t>(late), 0, 0});
      for (Schedule& schedule : without) {
        schedule.push_back({ActionKind::kSend, static_cast<std::uint32_t>(late), 0, 0});
      }
      const Interpreted result = Interpreter(without, Numbers(ranks)).Run();
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto sends = std::count_if(without[rank].begin(), without[rank].end(), IsSend);
        EXPECT_LT(result.messages_sent[rank], static_cast<std::uint64_t>(sends))
            << ranks << " ranks without " << late;
      }
      EXPECT_FALSE(result.finished);
    }
  }
}

}  // namespace
}  // namespace shoal::collective
