// Goal: every fault strikes when it is on, and only it.
// Method: one fault at a time in a world of busy nodes; the counts say what happened.
#include "sim/fault_driver.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "sim/recorder_for_test.h"

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Everything that only a fault can cause.
constexpr Happening kFaultsSeen[] = {
    Happening::kCrash,      Happening::kFreeze,    Happening::kSlow,   Happening::kPartition,
    Happening::kDisconnect, Happening::kFrameLost, Happening::kBitFlip};

// Ten nodes, all joined to the first, that send to it for a minute.
void RunBusyMinute(RecordedWorld& nodes) {
  for (std::size_t i = 2; i <= 10; ++i) nodes.Connect(i, 1);
  for (int tick = 0; tick < 600; ++tick) {
    for (std::size_t i = 2; i <= 10; ++i) {
      // Down and full are answers too: this is weather, not a protocol.
      (void)nodes.Send(i, 1, Traffic::kControl, 100, 1);
      nodes.Connect(i, 1);
    }
    nodes.world().RunFor(milliseconds(100));
  }
}

void ExpectOnly(const Faults& faults, Happening what) {
  RecordedWorld nodes(10, {.seed = 5, .faults = faults});
  RunBusyMinute(nodes);
  for (const Happening seen : kFaultsSeen) {
    const std::uint64_t count = nodes.world().count(seen);
    if (seen == what) {
      EXPECT_GT(count, 3U);
    } else {
      EXPECT_EQ(count, 0U) << static_cast<int>(seen);
    }
  }
  nodes.world().Heal();
  const std::uint64_t struck = nodes.world().count(what);
  RunBusyMinute(nodes);
  EXPECT_EQ(nodes.world().count(what), struck) << "strikes after healing";
}

TEST(FaultDriverTest, Crashes) { ExpectOnly({.crashes_per_node_hour = 120}, Happening::kCrash); }

TEST(FaultDriverTest, Hangs) { ExpectOnly({.hangs_per_node_hour = 120}, Happening::kFreeze); }

TEST(FaultDriverTest, Partitions) {
  ExpectOnly({.partitions_per_hour = 1200, .partition_mean = seconds(1)}, Happening::kPartition);
}

TEST(FaultDriverTest, Disconnects) {
  ExpectOnly({.disconnects_per_node_hour = 120}, Happening::kDisconnect);
}

TEST(FaultDriverTest, FrameLoss) { ExpectOnly({.frame_loss = 0.05}, Happening::kFrameLost); }

TEST(FaultDriverTest, BitFlips) { ExpectOnly({.bit_flip = 0.05}, Happening::kBitFlip); }

TEST(FaultDriverTest, Slowdowns) {
  RecordedWorld nodes(2, {.seed = 5,
                          .faults = {.slowdowns_per_node_hour = 3600,
                                     .slowdown_mean = std::chrono::hours(1),
                                     .slowdown_factor = 10}});
  nodes.world().RunFor(seconds(10));
  EXPECT_GT(nodes.world().count(Happening::kSlow), 3U);
  Duration done_at{0};
  const Duration begin = nodes.world().now();
  ASSERT_TRUE(nodes.executor(1)
                  .Submit({.tag = {},
                           .work = {.operations = 80e9, .bytes_moved = 0},
                           .run = {},
                           .done = [&](JobTag) { done_at = nodes.world().now(); }})
                  .ok());
  nodes.world().RunFor(seconds(20));
  EXPECT_EQ(done_at - begin, seconds(10));
}

TEST(FaultDriverTest, ACalmWorldIsCalm) {
  RecordedWorld nodes(10);
  RunBusyMinute(nodes);
  for (const Happening seen : kFaultsSeen) EXPECT_EQ(nodes.world().count(seen), 0U);
  EXPECT_EQ(nodes.at(1).Count("frame 2 0 1"), 599);  // All but the one before it was up.
}

TEST(FaultDriverTest, LossDelaysButKeepsOrder) {
  RecordedWorld nodes(2, {.seed = 2, .faults = {.frame_loss = 0.3}});
  nodes.Connect(1, 2);
  ASSERT_TRUE(nodes.world().RunUntil([&] { return nodes.at(1).Saw("up 2"); }, seconds(5)));
  nodes.at(2).log.clear();
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(nodes.Send(1, 2, Traffic::kActivations, 8, i).ok());
    expected.push_back("frame 1 1 " + std::to_string(i));
  }
  nodes.world().RunFor(milliseconds(100));
  EXPECT_LT(nodes.at(2).log.size(), 20U);
  nodes.world().RunFor(seconds(4));
  EXPECT_EQ(nodes.at(2).log, expected);
}

TEST(FaultDriverTest, TotalLossBreaksTheLinkOnBothSides) {
  RecordedWorld nodes(2, {.seed = 1, .faults = {.frame_loss = 0.5}});
  nodes.Connect(1, 2);
  ASSERT_TRUE(nodes.world().RunUntil([&] { return nodes.at(1).Saw("up 2"); }, seconds(5)));
  ASSERT_TRUE(nodes.world().RunUntil(
      [&] {
        (void)nodes.Send(1, 2, Traffic::kControl, 1);
        return nodes.at(1).Saw("down 2 deadline exceeded");
      },
      seconds(600)));
  nodes.world().RunFor(milliseconds(1));
  EXPECT_TRUE(nodes.at(2).Saw("down 1 deadline exceeded"));
}

TEST(FaultDriverTest, JitterVariesAndKeepsOrder) {
  RecordedWorld nodes(2, {.seed = 1, .faults = {.delay_jitter_mean = milliseconds(20)}});
  nodes.Join(1, 2);
  std::set<Duration> delays;
  for (int i = 0; i < 50; ++i) {
    const Duration sent = nodes.world().now();
    ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, i).ok());
    const auto arrived = [&] { return nodes.at(2).log.size() == static_cast<std::size_t>(i) + 1; };
    ASSERT_TRUE(nodes.world().RunUntil(arrived, seconds(1)));
    delays.insert(nodes.world().now() - sent);
  }
  EXPECT_GT(delays.size(), 40U);
  EXPECT_GE(*delays.begin(), milliseconds(1));
}

TEST(FaultDriverTest, ABitFlipChangesOneBit) {
  RecordedWorld nodes(2, {.seed = 1, .faults = {.bit_flip = 1}});
  nodes.Join(1, 2);
  ASSERT_TRUE(nodes.Send(1, 2, Traffic::kBulk, 64).ok());
  nodes.world().RunFor(seconds(1));
  ASSERT_EQ(nodes.at(2).frames.size(), 1U);
  int bits = 0;
  for (const std::byte byte : nodes.at(2).frames[0]) {
    bits += std::popcount(std::to_integer<unsigned>(byte));
  }
  EXPECT_EQ(bits, 1);
}

TEST(FaultDriverTest, ClocksDriftApartWithinTheLimit) {
  RecordedWorld nodes(20, {.seed = 1, .faults = {.clock_drift_ppm_max = 200}});
  std::vector<Instant> begin;
  for (std::size_t i = 1; i <= 20; ++i) begin.push_back(nodes.clock(i).Now());
  nodes.world().RunFor(seconds(1000));
  std::set<Duration> elapsed;
  for (std::size_t i = 1; i <= 20; ++i) {
    elapsed.insert(nodes.clock(i).Now() - begin[i - 1]);
  }
  EXPECT_GE(*elapsed.begin(), seconds(1000) - milliseconds(200) - Duration(1));
  EXPECT_LE(*elapsed.rbegin(), seconds(1000) + milliseconds(200) + Duration(1));
  EXPECT_GT(elapsed.size(), 15U);
}

TEST(FaultDriverTest, AbsurdRatesDoNotStopTime) {
  Faults faults;
  for (const FaultField& field : FaultFields()) field.Set(faults, 1e300);
  RecordedWorld nodes(3, {.seed = 1, .faults = faults});
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.world().now(), seconds(1));
}

}  // namespace
}  // namespace shoal::sim
