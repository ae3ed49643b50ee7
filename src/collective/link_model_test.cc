// Goal: predictions that agree with theory where theory is exact, and choices that follow from
// them. Method: closed forms against the event-by-event model, and cases with one right answer.
#include "collective/link_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "collective/interpreter_for_test.h"

namespace shoal::collective {
namespace {

constexpr LinkModel kGigabit = {.alpha_seconds = 300e-6, .bytes_per_second = 110e6};

double Predict(const std::vector<Schedule>& schedules, const LinkModel& link) {
  return PredictSeconds(schedules, 4, [&](std::size_t, std::size_t) { return link; });
}

double PredictRing(std::size_t ranks, std::size_t elements, const Pieces& pieces) {
  return Predict(AllSchedules(ranks, [&](Place p) { return RingAllReduce(p, elements, pieces); }),
                 kGigabit);
}

TEST(PredictTest, OneMessageTakesWhatTheModelSays) {
  const std::vector<Schedule> schedules = {{{ActionKind::kSend, 1, 0, 1000}},
                                           {{ActionKind::kReceiveCopy, 0, 0, 1000}}};
  EXPECT_NEAR(Predict(schedules, kGigabit), kGigabit.Seconds(4048), 1e-12);
}

TEST(PredictTest, OneAtATimeEachWay) {
  // Two to one: the second waits for the first.
  const std::vector<Schedule> schedules = {
      {{ActionKind::kSend, 2, 0, 1000}},
      {{ActionKind::kSend, 2, 0, 1000}},
      {{ActionKind::kReceiveCopy, 0, 0, 1000}, {ActionKind::kReceiveCopy, 1, 0, 1000}}};
  EXPECT_NEAR(Predict(schedules, kGigabit), kGigabit.Seconds(2 * 4048), 1e-12);
}

TEST(PredictTest, ACircleOfWaitersTakesForEver) {
  const std::vector<Schedule> schedules = {{{ActionKind::kReceiveCopy, 1, 0, 1}},
                                           {{ActionKind::kReceiveCopy, 0, 0, 1}}};
  EXPECT_EQ(Predict(schedules, kGigabit), std::numeric_limits<double>::infinity());
}

TEST(PredictTest, PiecesKeepTheLinksOfARingBusy) {
  for (const std::size_t ranks : {2U, 3U, 8U, 24U}) {
    const std::size_t elements = 4 << 20U;
    const double bound = 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) * 4.0 *
                         static_cast<double>(elements) / kGigabit.bytes_per_second;
    const double seconds = PredictRing(ranks, elements, {.elements = 8192, .ahead = 24});
    EXPECT_LT(seconds, 1.02 * bound) << ranks;
    EXPECT_GE(seconds, bound);
  }
}

TEST(PredictTest, ClosedFormsAgreeWithTheModel) {
  for (const std::size_t ranks : {2U, 3U, 8U, 13U}) {
    for (const std::size_t elements : {1000U, 100'000U, 3'000'000U}) {
      for (const Pieces& pieces : {Pieces{0, 1}, Pieces{5000, 3}, Pieces{65536, 16}}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements");
        const double bytes = 4 * static_cast<double>(elements);
        const double ring = PredictRing(ranks, elements, pieces);
        EXPECT_NEAR(RingSeconds(kGigabit, ranks, bytes, pieces), ring, 0.1 * ring);
        const double halving = Predict(
            AllSchedules(ranks, [&](Place p) { return HalvingDoublingAllReduce(p, elements); }),
            kGigabit);
        EXPECT_NEAR(HalvingDoublingSeconds(kGigabit, ranks, bytes), halving, 0.1 * halving);
      }
    }
  }
}

TEST(PredictTest, TheClosedFormOfGroupsAgreesWithTheModel) {
  const Links links = {.within = kGigabit,
                       .across = {.alpha_seconds = 2e-3, .bytes_per_second = 20e6},
                       .per_switch = 4};
  const auto groups = ConsecutiveGroups(16, 4);
  for (const std::size_t elements : {1000U, 1'000'000U}) {
    const Pieces pieces = {.elements = 20'000, .ahead = 8};
    const auto schedules = AllSchedules(
        16, [&](Place place) { return HierarchicalAllReduce(place, elements, pieces, groups); });
    const double seconds = PredictSeconds(schedules, 4, [&](std::size_t a, std::size_t b) {
      return a / 4 == b / 4 ? links.within : links.across;
    });
    EXPECT_NEAR(HierarchicalSeconds(links, 16, 4, 4 * static_cast<double>(elements), pieces),
                seconds, 0.15 * seconds);
  }
}

TEST(ChooseTest, ARingForMuchHalvingForLittle) {
  const Links links = {.within = kGigabit, .across = kGigabit, .per_switch = 0};
  for (const std::size_t members : {4U, 5U, 8U, 16U, 24U}) {
    EXPECT_EQ(Choose(links, members, 16 << 20U).algorithm, Algorithm::kRing) << members;
    EXPECT_EQ(Choose(links, members, 1).algorithm, Algorithm::kHalvingDoubling) << members;
    EXPECT_EQ(Choose(links, members, 500).algorithm, Algorithm::kHalvingDoubling) << members;
  }
}

TEST(ChooseTest, GroupsWhereSwitchesAreFarApart) {
  const Links links = {.within = kGigabit,
                       .across = {.alpha_seconds = 1e-3, .bytes_per_second = 20e6},
                       .per_switch = 24};
  const Choice choice = Choose(links, 144, 4 << 20U);
  EXPECT_EQ(choice.algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(choice.per_group, 24U);
}

TEST(ChooseTest, GroupsForThousands) {
  const Links links = {.within = kGigabit, .across = kGigabit, .per_switch = 0};
  const Choice choice = Choose(links, 3000, 1 << 20U);
  EXPECT_EQ(choice.algorithm, Algorithm::kHierarchical);
  EXPECT_GT(choice.per_group, 8U);
  EXPECT_LT(choice.per_group, 1024U);
  EXPECT_LT(choice.seconds,
            RingSeconds(kGigabit, 3000, 4 << 20U, {.elements = 65536, .ahead = 16}) / 4);
}

TEST(ChooseTest, WhatIsChosenIsWhatIsFastestInTheModel) {
  const Links links = {.within = kGigabit, .across = kGigabit, .per_switch = 0};
  for (const std::size_t elements : {100U, 10'000U, 100'000U, 1'000'000U}) {
    const Choice choice = Choose(links, 8, elements);
    const double ring = PredictRing(8, elements, choice.pieces);
    const double halving = Predict(
        AllSchedules(8, [&](Place p) { return HalvingDoublingAllReduce(p, elements); }), kGigabit);
    EXPECT_LT(choice.seconds, 1.1 * std::min(ring, halving)) << elements;
  }
}

TEST(FitLinkTest, FindsTheLine) {
  Random random(1);
  std::vector<LinkSample> samples;
  for (int i = 0; i < 50; ++i) {
    const double bytes = 1000.0 * (1 + i * i);
    samples.push_back({bytes, kGigabit.Seconds(bytes) * (1 + 0.01 * random.Normal())});
  }
  const Result<LinkModel> fit = FitLink(samples);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->bytes_per_second, kGigabit.bytes_per_second, 2e6);
  EXPECT_NEAR(fit->alpha_seconds, kGigabit.alpha_seconds, 100e-6);
  EXPECT_FALSE(FitLink({}).ok());
  EXPECT_FALSE(FitLink(std::vector<LinkSample>{{1, 1}, {1, 2}}).ok());
  EXPECT_FALSE(FitLink(std::vector<LinkSample>{{1, 2}, {2, 1}}).ok());
}

TEST(BucketTest, MoreMembersAndSlowerAnswersWantLargerBuckets) {
  std::size_t before = 0;
  for (const std::size_t members : {2U, 8U, 24U, 138U, 1000U}) {
    const std::size_t bytes = BucketBytes(kGigabit, members);
    EXPECT_GE(bytes, before);
    EXPECT_GE(bytes, 1U << 20U);
    EXPECT_LE(bytes, 32U << 20U);
    before = bytes;
  }
  EXPECT_EQ(BucketBytes(kGigabit, 4), 1U << 20U);
  EXPECT_GT(BucketBytes(kGigabit, 138), 2U << 20U);
}

PairTimes TwoSwitches(std::size_t size) {
  PairTimes times = {.size = size, .seconds = std::vector<double>(size * size)};
  Random random(3);
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      times.seconds[a * size + b] = (a % 2 == b % 2 ? 1e-3 : 5e-3) * (1 + 0.1 * random.Unit());
    }
  }
  return times;
}

TEST(RingOrderTest, CrossesBetweenSwitchesNoMoreThanItMust) {
  for (const std::size_t size : {2U, 3U, 7U, 24U, 138U}) {
    const std::vector<std::uint32_t> order = RingOrder(TwoSwitches(size));
    ASSERT_EQ(order.size(), size);
    EXPECT_EQ(order[0], 0U);
    std::vector<std::uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint32_t> all(size);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(sorted, all);
    int crossings = 0;
    for (std::size_t i = 0; i < size; ++i) {
      crossings += order[i] % 2 == order[(i + 1) % size] % 2 ? 0 : 1;
    }
    EXPECT_EQ(crossings, 2) << size;
  }
  EXPECT_EQ(RingOrder({.size = 1, .seconds = {0}}), std::vector<std::uint32_t>{0});
}

TEST(RingOrderTest, KeepsASlowPairApart) {
  PairTimes times = {.size = 6, .seconds = std::vector<double>(36, 1e-3)};
  for (const auto& [a, b] : {std::pair{0, 1}, {2, 3}, {4, 5}, {0, 5}}) {
    times.seconds[static_cast<std::size_t>(a * 6 + b)] = 1;  // One way is enough.
  }
  const std::vector<std::uint32_t> order = RingOrder(times);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_LT(times.Between(order[i], order[(i + 1) % 6]), 0.5) << i;
  }
}

TEST(FindSwitchesTest, GroupsWhatIsNear) {
  const auto groups = FindSwitches(TwoSwitches(9));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0], (std::vector<std::uint32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(groups[1], (std::vector<std::uint32_t>{1, 3, 5, 7}));
  PairTimes alike = {.size = 4, .seconds = std::vector<double>(16, 1e-3)};
  EXPECT_EQ(FindSwitches(alike).size(), 1U);
}

}  // namespace
}  // namespace shoal::collective
