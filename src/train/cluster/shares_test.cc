#include "train/cluster/shares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"

namespace shoal::train {
namespace {

Device MakeDevice(std::uint64_t node, double seconds, std::int64_t most = 1000, double factor = 1) {
  return {
      .node = NodeId{node}, .seconds_per_image = seconds, .samples_max = most, .factor = factor};
}

std::vector<std::int64_t> Samples(const Result<std::vector<Share>>& shares) {
  EXPECT_TRUE(shares.ok()) << shares.status().ToString();
  std::vector<std::int64_t> samples;
  if (shares.ok()) {
    for (const Share& share : *shares) samples.push_back(share.samples);
  }
  return samples;
}

using Numbers = std::vector<std::int64_t>;

TEST(DealShares, FollowsSpeed) {
  EXPECT_EQ(Samples(DealShares(std::vector{MakeDevice(2, 0.01), MakeDevice(3, 0.03)}, 64)),
            (Numbers{48, 16}));
  EXPECT_EQ(
      Samples(DealShares(std::vector{MakeDevice(2, 1), MakeDevice(3, 1), MakeDevice(4, 1)}, 7)),
      (Numbers{3, 2, 2}));
  // 7.5 and 2.5: the quick one has one more sooner.
  EXPECT_EQ(Samples(DealShares(std::vector{MakeDevice(2, 3), MakeDevice(3, 1)}, 10)),
            (Numbers{2, 8}));
}

TEST(DealShares, UnknownSpeedsAreAverage) {
  std::vector<Device> devices{MakeDevice(2, 1), MakeDevice(3, 3), MakeDevice(4, 0)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::optional<double> unknown :
       {std::optional<double>(), std::optional(nan), std::optional(-1.0), std::optional(1e300)}) {
    devices[2].seconds_per_image = unknown;  // As 2 is.
    EXPECT_EQ(Samples(DealShares(devices, 110)), (Numbers{60, 20, 30}));
  }
  for (Device& device : devices) device.seconds_per_image.reset();
  EXPECT_EQ(Samples(DealShares(devices, 30)), (Numbers{10, 10, 10}));
}

TEST(DealShares, SumsAreExactInRandomCases) {
  Random random(5);
  for (int round = 0; round < 1000; ++round) {
    std::vector<Device> devices(random.Below(50) + 1);
    std::int64_t room = 0, working = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      constexpr double kFactors[] = {0, 0.5, 1, 1, 1};
      devices[i] = MakeDevice(i + 2, std::exp2(random.Unit() * 20 - 10), random.Between(0, 300),
                              kFactors[random.Below(5)]);
      if (random.Chance(0.1)) devices[i].seconds_per_image.reset();
      if (devices[i].factor == 0 || devices[i].samples_max == 0) continue;
      room += devices[i].samples_max;
      ++working;
    }
    const std::int64_t batch = random.Between(1, std::max<std::int64_t>(room, 1));
    const auto shares = DealShares(devices, batch);
    if (working == 0) {
      EXPECT_EQ(shares.status().code(), Code::kUnavailable);
      continue;
    }
    ASSERT_TRUE(shares.ok()) << shares.status().ToString();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::int64_t samples = (*shares)[i].samples;
      sum += samples;
      EXPECT_EQ((*shares)[i].node, devices[i].node);
      EXPECT_LE(samples, devices[i].samples_max);
      const bool works = devices[i].factor > 0 && devices[i].samples_max > 0;
      EXPECT_GE(samples, works && batch >= working ? 1 : 0);
      EXPECT_TRUE(works || samples == 0);
    }
    ASSERT_EQ(sum, batch) << "round " << round;
  }
}

TEST(DealShares, WhatOneCannotHoldOthersDo) {
  EXPECT_EQ(
      Samples(DealShares(
          std::vector{MakeDevice(2, 1, 10), MakeDevice(3, 1, 1000), MakeDevice(4, 2, 1000)}, 100)),
      (Numbers{10, 60, 30}));
}

TEST(DealShares, SaysWhatDoesNotFit) {
  const auto full = DealShares(std::vector{MakeDevice(2, 1, 16), MakeDevice(3, 1, 20)}, 64);
  EXPECT_EQ(full.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(
      full.status().message(),
      "a batch of 64 images does not fit: node 2 holds 16, node 3 holds 20, 36 together; make "
      "the batch smaller, or add devices");
  const auto nobody = DealShares(std::vector{MakeDevice(2, 1, 16, 0)}, 8);
  EXPECT_EQ(nobody.status().code(), Code::kUnavailable);
  EXPECT_EQ(DealShares({}, 8).status().code(), Code::kUnavailable);
  EXPECT_EQ(DealShares(std::vector{MakeDevice(2, 1)}, 0).status().code(), Code::kInvalidArgument);
  const std::vector<Device> many(500, MakeDevice(2, 1, 1));
  EXPECT_LT(DealShares(many, 501).status().message().size(), 400U);
}

TEST(DealShares, CapsWithoutMeasureDoNotOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Samples(DealShares(std::vector{MakeDevice(2, 1, kHuge), MakeDevice(3, 1, kHuge)}, 8)),
            (Numbers{4, 4}));
}

TEST(DealShares, SmallBatchesGoToTheQuickest) {
  EXPECT_EQ(
      Samples(DealShares(std::vector{MakeDevice(2, 3), MakeDevice(3, 1), MakeDevice(4, 2)}, 2)),
      (Numbers{0, 2, 0}));
  EXPECT_EQ(
      Samples(DealShares(std::vector{MakeDevice(2, 3), MakeDevice(3, 1), MakeDevice(4, 2)}, 3)),
      (Numbers{1, 1, 1}));
}

TEST(DealShares, HundredThirtyEightDevices) {
  Random random(9);
  std::vector<Device> devices;
  double speed = 0;
  for (std::uint64_t i = 0; i < 138; ++i) {
    devices.push_back(MakeDevice(i + 2, 0.02 + 0.02 * random.Unit(), 64));
    speed += 1 / *devices.back().seconds_per_image;
  }
  const auto shares = DealShares(devices, 138 * 16);
  ASSERT_TRUE(shares.ok());
  double longest = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    longest = std::max(longest,
                       static_cast<double>((*shares)[i].samples) * *devices[i].seconds_per_image);
  }
  EXPECT_LT(longest, 1.07 * 138 * 16 / speed) << "one image is up to 6 % of a share";
}

TEST(WorkFactor, HeatAndBatteries) {
  EXPECT_EQ(WorkFactor({}), 1);
  EXPECT_EQ(WorkFactor({.battery_celsius = 44.9}), 1);
  EXPECT_EQ(WorkFactor({.battery_celsius = 45}), 0.5);
  EXPECT_EQ(WorkFactor({.battery_celsius = 50}), 0);
  EXPECT_EQ(WorkFactor({.battery_level = 0.19}), 0.5);
  EXPECT_EQ(WorkFactor({.battery_level = 0.19, .charging = false}), 0.5);
  EXPECT_EQ(WorkFactor({.battery_level = 0.09}), 0);
  EXPECT_EQ(WorkFactor({.battery_level = 0.05, .charging = true}), 1);
  EXPECT_EQ(WorkFactor({.battery_level = 0.15, .charging = true, .battery_celsius = 51}), 0);
  EXPECT_EQ(WorkFactor({.battery_celsius = std::numeric_limits<double>::quiet_NaN()}), 1);
}

TEST(WorkFactor, DoesNotFlapAtALimit) {
  EXPECT_EQ(WorkFactor({.battery_celsius = 44}, 0.5), 0.5);
  EXPECT_EQ(WorkFactor({.battery_celsius = 42.9}, 0.5), 1);
  EXPECT_EQ(WorkFactor({.battery_celsius = 49}, 0), 0);
  EXPECT_EQ(WorkFactor({.battery_celsius = 47.9}, 0), 0.5);
  EXPECT_EQ(WorkFactor({.battery_level = 0.21}, 0.5), 0.5);
  EXPECT_EQ(WorkFactor({.battery_level = 0.24}, 0.5), 1);
}

TEST(DealShares, HotDevicesDoHalf) {
  EXPECT_EQ(Samples(DealShares(std::vector{MakeDevice(2, 1), MakeDevice(3, 1, 1000, 0.5),
                                           MakeDevice(4, 1, 1000, 0)},
                               90)),
            (Numbers{60, 30, 0}));
}

TEST(RedealShares, KeepsWhatIsGoodEnough) {
  const std::vector<Device> before{MakeDevice(2, 1), MakeDevice(3, 1)};
  const auto old = DealShares(before, 100);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(Samples(RedealShares(*old, std::vector{MakeDevice(2, 1.08), MakeDevice(3, 1)}, 100)),
            (Numbers{50, 50}));
  EXPECT_EQ(Samples(RedealShares(*old, std::vector{MakeDevice(2, 1.5), MakeDevice(3, 1)}, 100)),
            (Numbers{40, 60}));
}

TEST(RedealShares, ChangesWhenItMust) {
  const auto old = DealShares(std::vector{MakeDevice(2, 1.03), MakeDevice(3, 1)}, 100);
  ASSERT_EQ(Samples(old), (Numbers{49, 51}));
  const auto redeal = [&](std::vector<Device> devices, std::int64_t batch = 100) {
    return Samples(RedealShares(*old, devices, batch));
  };
  const Device a = MakeDevice(2, 1), b = MakeDevice(3, 1);
  EXPECT_EQ(redeal({a, b}), (Numbers{49, 51}));
  EXPECT_EQ(redeal({b, a}), (Numbers{51, 49})) << "in the order of the devices";
  EXPECT_EQ(redeal({a}), (Numbers{100}));
  EXPECT_EQ(redeal({a, MakeDevice(4, 1)}), (Numbers{50, 50}));
  EXPECT_EQ(redeal({a, b, MakeDevice(4, 1)}, 99), (Numbers{33, 33, 33}));
  EXPECT_EQ(redeal({a, MakeDevice(3, 1, 50)}), (Numbers{50, 50}));
  EXPECT_EQ(redeal({a, MakeDevice(3, 1, 1000, 0.5)}), (Numbers{67, 33}));
  EXPECT_EQ(redeal({a, b}, 102), (Numbers{51, 51}));
}

TEST(SpeedEstimate, OneStallChangesNothing) {
  SpeedEstimate speed;
  EXPECT_FALSE(speed.seconds_per_image());
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    speed.Add(bad, 10);
  }
  speed.Add(1, 0);
  EXPECT_FALSE(speed.seconds_per_image());
  speed.Add(0.1, 10);
  EXPECT_DOUBLE_EQ(*speed.seconds_per_image(), 0.01);
  for (int i = 0; i < 20; ++i) {
    speed.Add(i % 3 == 1 ? 5 : 0.1, 10);
    EXPECT_DOUBLE_EQ(*speed.seconds_per_image(), 0.01);
  }
  for (int i = 0; i < 4; ++i) speed.Add(0.3, 10);
  EXPECT_DOUBLE_EQ(*speed.seconds_per_image(), 0.03) << "four of seven: it has become slow";
}

// Devices that compute with noise, and a redeal after every step.
struct Cluster {
  std::vector<double> seconds;  // Per image, true.
  std::int64_t batch;
  double noise = 0;
  double overhead = 0;  // Per step, whatever the share.
  std::vector<SpeedEstimate> speeds = std::vector<SpeedEstimate>(seconds.size());
  std::vector<Share> shares = {};
  Random random{11};

  // The step's time.
  double Step() {
    std::vector<Device> devices;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      devices.push_back(MakeDevice(i + 2, 0));
      devices.back().seconds_per_image = speeds[i].seconds_per_image();
    }
    shares = *RedealShares(shares, devices, batch);
    double longest = 0;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double time = overhead + static_cast<double>(shares[i].samples) * seconds[i] *
                                         (1 + noise * (2 * random.Unit() - 1));
      speeds[i].Add(time, shares[i].samples);
      longest = std::max(longest, time);
    }
    return longest;
  }
};

TEST(RedealShares, ASlowDeviceIsFoundWithinThreeRedeals) {
  Cluster cluster{.seconds = {0.01, 0.01, 0.03, 0.01}, .batch = 320, .overhead = 0.02};
  double ideal = 0;
  for (const double seconds : cluster.seconds) ideal += 1 / seconds;
  ideal = cluster.overhead + 320 / ideal;
  EXPECT_GT(cluster.Step(), 2 * ideal) << "nothing is known yet";
  int redeals = 0;
  for (int step = 0; step < 20 && redeals < 3; ++step) {
    const std::vector<Share> before = cluster.shares;
    cluster.Step();
    redeals += before == cluster.shares ? 0 : 1;
  }
  EXPECT_LT(cluster.Step(), 1.1 * ideal);
}

// Shares that were dealt from measures at one end of the noise are dealt once more, and then stay.
TEST(RedealShares, NoiseDoesNotMakeThemFlap) {
  for (const std::size_t count : {2U, 8U, 138U}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Cluster cluster{.seconds = std::vector<double>(count, 0.01),
                      .batch = static_cast<std::int64_t>(32 * count),
                      .noise = 0.04,
                      .random = Random(seed)};
      cluster.seconds[1] = 0.02;
      int changes = 0;
      for (int step = 0; step < 1000; ++step) {
        const std::vector<Share> before = cluster.shares;
        cluster.Step();
        if (step > 5 && before != cluster.shares) ++changes;
      }
      EXPECT_LE(changes, 1) << count << " devices, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace shoal::train
