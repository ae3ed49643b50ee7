// Goal: time is a total order. Method: the queue against a sorted list, on times that
// fall into the present, the calendar and beyond it.
#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::uint32_t> Drain(EventQueue& queue) {
  std::vector<std::uint32_t> subjects;
  while (queue.Peek() != nullptr) subjects.push_back(queue.Pop().subject);
  return subjects;
}

TEST(EventQueueTest, EqualTimesKeepTheOrderOfInsertion) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 100; ++i) queue.Push({.at = seconds(1), .subject = i});
  const std::vector<std::uint32_t> order = Drain(queue);
  EXPECT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(EventQueueTest, AgreesWithASortedListWhilePushingAndPopping) {
  Random random(1);
  EventQueue queue;
  std::vector<std::pair<Duration, std::uint32_t>> expected;
  Duration latest{0};
  std::uint32_t next = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (expected.empty() || random.Chance(0.52)) {
      // From this very moment to a minute ahead: every part of the calendar.
      const std::int64_t span = std::int64_t{1} << random.Between(0, 36);
      const Duration at = queue.now() + Duration(random.Between(0, span));
      queue.Push({.at = at, .subject = next});
      expected.emplace_back(at, next++);
      continue;
    }
    const auto least = std::min_element(expected.begin(), expected.end());
    const Event event = queue.Pop();
    ASSERT_EQ(event.subject, least->second);
    ASSERT_EQ(event.at, least->first);
    ASSERT_GE(event.at, latest);
    latest = event.at;
    expected.erase(least);
  }
  EXPECT_EQ(queue.size(), expected.size());
}

TEST(EventQueueTest, ThePastHappensNowAfterWhatIsDue) {
  EventQueue queue;
  queue.AdvanceTo(seconds(10));
  queue.Push({.at = seconds(10), .subject = 1});
  queue.Push({.at = seconds(3), .subject = 2});
  EXPECT_EQ(Drain(queue), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(queue.now(), seconds(10));
}

TEST(EventQueueTest, WhatIsPushedAfterPeekingCanStillBeNext) {
  EventQueue queue;
  queue.Push({.at = seconds(100), .subject = 1});
  EXPECT_EQ(queue.Peek()->subject, 1U);
  queue.Push({.at = milliseconds(5), .subject = 2});
  EXPECT_EQ(Drain(queue), (std::vector<std::uint32_t>{2, 1}));
}

TEST(EventQueueTest, SweepingRemovesTheStaleOnesAndNothingElse) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 20'000; ++i) queue.Push({.at = milliseconds(i), .subject = i});
  EXPECT_FALSE(queue.WantsSweep());
  queue.NoteStale(15'000);
  EXPECT_TRUE(queue.WantsSweep());
  queue.Sweep([](const Event& event) { return event.subject % 4 != 0; });
  EXPECT_FALSE(queue.WantsSweep());
  EXPECT_EQ(queue.size(), 5'000U);
  const std::vector<std::uint32_t> order = Drain(queue);
  ASSERT_EQ(order.size(), 5'000U);
  for (std::uint32_t i = 0; i < 5'000; ++i) EXPECT_EQ(order[i], i * 4);
}

}  // namespace
}  // namespace shoal::sim
