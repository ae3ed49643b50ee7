// Goal: what stays is believed within seconds, and nothing else is believed at all.
#include "coordinator/speed_belief.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shoal::coordinator {
namespace {

constexpr Duration kReport = std::chrono::milliseconds(250);

class SpeedBeliefTest : public testing::Test {
 protected:
  // Says so four times a second; counts how often something else was believed.
  int Say(double slowness, Duration time) {
    int changes = 0;
    for (Duration passed{0}; passed < time; passed += kReport) {
      now_ = now_ + kReport;
      changes += belief_.Measured(slowness, now_) ? 1 : 0;
    }
    return changes;
  }
  double Believed() const { return belief_.Slowness(now_).value_or(-1); }

  SpeedBelief belief_;
  Instant now_{std::chrono::hours(5)};
};

TEST_F(SpeedBeliefTest, NothingIsKnownAtFirst) {
  EXPECT_EQ(Believed(), -1);
  EXPECT_EQ(Say(1.5, std::chrono::seconds(1)), 0);
  EXPECT_EQ(Believed(), -1);
  EXPECT_EQ(Say(1.5, std::chrono::seconds(2)), 1);
  EXPECT_EQ(Believed(), 1.5);
}

TEST_F(SpeedBeliefTest, WhatStaysIsBelievedAndWhatPassesIsNot) {
  Say(1, std::chrono::seconds(5));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Say(10, std::chrono::seconds(1)), 0);
    EXPECT_EQ(Say(1.1, std::chrono::seconds(1)), 0);
  }
  EXPECT_EQ(Believed(), 1);
  EXPECT_EQ(Say(3.3, std::chrono::seconds(5)), 1);
  EXPECT_EQ(Believed(), 3.3);
  EXPECT_EQ(Say(1, std::chrono::seconds(5)), 1) << "it has cooled";
  EXPECT_EQ(Believed(), 1);
}

TEST_F(SpeedBeliefTest, ALittleIsBelievedAfterAMinute) {
  Say(1, std::chrono::seconds(5));
  EXPECT_EQ(Say(1.15, std::chrono::seconds(50)), 0);
  EXPECT_EQ(Say(1.15, std::chrono::minutes(1)), 1);
  EXPECT_NEAR(Believed(), 1.1, 0.06);
  EXPECT_LE(Say(1.15, std::chrono::minutes(20)), 1);
  EXPECT_NEAR(Believed(), 1.15, 0.09);
}

TEST_F(SpeedBeliefTest, VeryLittleIsNothing) {
  Say(1, std::chrono::seconds(5));
  EXPECT_EQ(Say(1.04, std::chrono::minutes(5)), 0);
  EXPECT_EQ(Say(0.96, std::chrono::minutes(5)), 0);
  EXPECT_EQ(Believed(), 1);
}

TEST_F(SpeedBeliefTest, NowThisNowThatIsNoChange) {
  Say(1, std::chrono::seconds(5));
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Say(1.5, kReport), 0);
    EXPECT_EQ(Say(0.5, kReport), 0);
  }
  EXPECT_EQ(Believed(), 1);
}

TEST_F(SpeedBeliefTest, NonsenseIsIgnored) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double nonsense : {0.0, -1.0, 1e-9, 1e9, kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_EQ(Say(nonsense, std::chrono::seconds(10)), 0) << nonsense;
  }
  EXPECT_EQ(Believed(), -1);
  Say(2, std::chrono::seconds(5));
  EXPECT_EQ(Say(std::nan(""), std::chrono::seconds(10)), 0);
  EXPECT_EQ(Believed(), 2);
}

TEST_F(SpeedBeliefTest, AfterARestNothingIsKnown) {
  Say(3, std::chrono::seconds(5));
  now_ = now_ + std::chrono::hours(2);
  EXPECT_EQ(Believed(), 3);
  now_ = now_ + std::chrono::hours(2);
  EXPECT_EQ(Believed(), -1);
  EXPECT_EQ(Say(1, std::chrono::seconds(3)), 1);
  EXPECT_EQ(Believed(), 1);
}

TEST_F(SpeedBeliefTest, StretchesOfWorkFarApartAreNotOne) {
  Say(1, std::chrono::seconds(5));
  Say(2, std::chrono::seconds(1));
  now_ = now_ + std::chrono::minutes(5);
  EXPECT_EQ(Say(2, std::chrono::seconds(1)), 0);
  EXPECT_EQ(Say(2, std::chrono::seconds(2)), 1);
}

}  // namespace
}  // namespace shoal::coordinator
