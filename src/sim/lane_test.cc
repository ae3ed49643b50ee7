// Goal: a cable carries at its rate, urgent frames first, nothing out of order.
#include "sim/lane.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/models.h"

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;

constexpr double kTenMegabits = 10e6;

Duration WireTime(std::size_t bytes) {
  const double per_byte = NanosecondsPerByte(kTenMegabits);
  return Duration(
      static_cast<std::int64_t>(static_cast<double>(bytes + Lane::kFrameOverheadBytes) * per_byte));
}

Lane SlowLane() {
  Lane lane;
  lane.SetRate(NanosecondsPerByte(kTenMegabits));
  return lane;
}

TEST(LaneTest, AnUnlimitedCableOnlyDelays) {
  Lane lane;
  lane.Put(milliseconds(5), Traffic::kBulk, Frame(kBulkFrameBytesMax), milliseconds(2));
  EXPECT_EQ(lane.Arrival(Traffic::kBulk), milliseconds(7));
}

TEST(LaneTest, FramesOfOneClassFollowEachOther) {
  Lane lane = SlowLane();
  for (int i = 0; i < 3; ++i) lane.Put(Duration(0), Traffic::kActivations, Frame(50'000), {});
  for (int i = 1; i <= 3; ++i) {
    const Duration arrival = lane.Arrival(Traffic::kActivations);
    EXPECT_EQ(arrival, i * WireTime(50'000));
    lane.Take(arrival, Traffic::kActivations);
  }
  EXPECT_TRUE(lane.empty(Traffic::kActivations));
  EXPECT_EQ(lane.waiting_bytes(Traffic::kActivations), 0U);
}

TEST(LaneTest, ALateFrameHoldsBackThoseBehindItInItsClassOnly) {
  Lane lane;
  lane.Put(Duration(0), Traffic::kControl, Frame(1), milliseconds(200));  // Was lost once.
  lane.Put(Duration(0), Traffic::kControl, Frame(2), milliseconds(1));
  lane.Put(Duration(0), Traffic::kBulk, Frame(3), milliseconds(1));
  EXPECT_EQ(lane.Arrival(Traffic::kBulk), milliseconds(1));
  EXPECT_EQ(lane.Arrival(Traffic::kControl), milliseconds(200));
  EXPECT_EQ(lane.Take(milliseconds(200), Traffic::kControl).size(), 1U);
  EXPECT_EQ(lane.Arrival(Traffic::kControl), milliseconds(200));
}

TEST(LaneTest, ControlOvertakesBulkAndDelaysItByItsOwnLength) {
  Lane lane = SlowLane();
  for (int i = 0; i < 16; ++i) lane.Put(Duration(0), Traffic::kBulk, Frame(kBulkFrameBytesMax), {});
  const Duration bulk_before = lane.Arrival(Traffic::kBulk);
  lane.Put(milliseconds(50), Traffic::kControl, Frame(1000), {});
  const Duration control = lane.Arrival(Traffic::kControl) - milliseconds(50);
  EXPECT_GE(control, WireTime(1000));
  EXPECT_LE(control, WireTime(1000) + WireTime(Lane::kSliceBytes));
  EXPECT_EQ(lane.Arrival(Traffic::kBulk), bulk_before + WireTime(1000));
}

TEST(LaneTest, TheWireIsNeverIdleNorFasterThanItsRate) {
  Random random(3);
  Lane lane = SlowLane();
  Duration total{0};
  for (int i = 0; i < 300; ++i) {  // Always more than the wire can carry.
    const auto traffic = static_cast<Traffic>(random.Below(kTrafficClasses));
    const auto bytes = static_cast<std::size_t>(random.Between(0, 20'000));
    lane.Put(milliseconds(i), traffic, Frame(bytes), {});
    total += WireTime(bytes);
  }
  Duration last{0};
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    const auto traffic = static_cast<Traffic>(i);
    while (!lane.empty(traffic)) {
      last = std::max(last, lane.Arrival(traffic));
      lane.Take(lane.Arrival(traffic), traffic);
    }
  }
  EXPECT_EQ(last, total);
}

TEST(LaneTest, WhatHasNotLeftADyingSenderIsLost) {
  Lane lane = SlowLane();
  for (int i = 0; i < 4; ++i) lane.Put(Duration(0), Traffic::kBulk, Frame(10'000), milliseconds(9));
  lane.DropUnsent(2 * WireTime(10'000));
  lane.Take(lane.Arrival(Traffic::kBulk), Traffic::kBulk);
  lane.Take(lane.Arrival(Traffic::kBulk), Traffic::kBulk);
  EXPECT_TRUE(lane.empty(Traffic::kBulk));
}

TEST(LaneTest, EmptyFramesCountToo) {
  Lane lane;
  lane.Put(Duration(0), Traffic::kControl, Frame(), {});
  EXPECT_GT(lane.waiting_bytes(Traffic::kControl), 0U);
}

}  // namespace
}  // namespace shoal::sim
