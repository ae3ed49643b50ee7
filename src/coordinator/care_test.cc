// Goal: a node rests when its battery, heat or owner demand it, comes back when they do not, and
// does not go back and forth.
#include "coordinator/care.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace shoal::coordinator {
namespace {

using wire::pb::Telemetry;
using News = std::vector<std::string>;

class NodeCareTest : public testing::Test {
 protected:
  // So long, with what `fill` puts into every message of telemetry.
  void Pass(Duration time, const std::function<void(Telemetry&)>& fill) {
    for (Duration at{0}; at < time; at += std::chrono::seconds(1)) {
      now_ = now_ + std::chrono::seconds(1);
      Telemetry telemetry;
      fill(telemetry);
      care_.OnTelemetry(telemetry, now_);
      const std::string news = care_.Judge(now_, minute_);
      if (!news.empty()) news_.push_back(news);
    }
  }
  void Pass(Duration time) {
    Pass(time, [this](Telemetry& telemetry) { telemetry = telemetry_; });
  }
  void Battery(double level, bool charging) {
    telemetry_.set_battery_level(level);
    telemetry_.set_charging(charging);
  }
  CareState state() const { return care_.verdict().state; }

  NodeCare care_;
  Instant now_{std::chrono::hours(1)};
  std::optional<int> minute_;
  Telemetry telemetry_;
  News news_;
};

constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kMinute = std::chrono::minutes(1);

TEST_F(NodeCareTest, WhatIsNotKnownDemandsNothing) {
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(care_.verdict().duty, 1);
  EXPECT_TRUE(news_.empty());
}

TEST_F(NodeCareTest, ABatteryThatEmptiesIsThrottledThenRests) {
  Battery(0.20, false);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  Battery(0.19, false);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kThrottled);
  EXPECT_EQ(care_.verdict().duty, 0.5);
  Battery(0.105, false);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kThrottled);
  Battery(0.10, false);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kDrained) << "handing over takes a little, too";
  EXPECT_EQ(care_.verdict().why, "battery 10 %, floor 10 %");
  EXPECT_EQ(care_.verdict().duty, 0.5) << "also while others get its layers";
  Battery(0.14, true);
  Pass(10 * kMinute);
  EXPECT_EQ(state(), CareState::kDrained) << "it would be empty again in no time";
  Battery(0.15, true);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_, (News{"works half of the time: battery 19 %, below 20 %, and not charging",
                         "rests: battery 10 %, floor 10 %", "works again: battery 15 %"}));
}

TEST_F(NodeCareTest, WhatIsMilderIsToldInTheWordsOfItsTime) {
  Battery(0.19, false);
  Pass(kSecond);
  telemetry_.set_battery_celsius(46);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kPaused);
  Battery(0.17, false);
  Pass(kSecond);
  telemetry_.set_battery_celsius(40);
  Pass(kMinute);
  EXPECT_EQ(news_.back(),
            "works again, half of the time: battery 17 %, below 20 %, and not charging");
}

TEST_F(NodeCareTest, ChargingForAMinuteEndsTheThrottling) {
  Battery(0.15, false);
  Pass(kSecond);
  Battery(0.15, true);
  Pass(50 * kSecond);
  EXPECT_EQ(state(), CareState::kThrottled);
  Pass(30 * kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_.back(), "works again: charging");
  Battery(0.15, false);
  Pass(9 * kSecond);
  EXPECT_EQ(state(), CareState::kFree) << "a plug may wobble";
  Pass(2 * kSecond);
  EXPECT_EQ(state(), CareState::kThrottled);
  Battery(0.25, false);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_.back(), "works again: battery 25 %");
}

TEST_F(NodeCareTest, AChargerThatFlapsDoesNotMakeItFlap) {
  for (const int period : {1, 5, 20, 45, 90, 200, 600}) {
    care_ = {};
    news_.clear();
    for (int second = 0; second < 4 * 3600; second += period) {
      Battery(0.15, second / period % 2 == 0);
      Pass(period * kSecond);
    }
    EXPECT_LE(news_.size(), 14U) << "every " << period << " s";
  }
}

TEST_F(NodeCareTest, TheCurrentsSignStandsInForTheCharger) {
  const auto with = [](double amperes) {
    return [amperes](Telemetry& t) {
      t.set_battery_level(0.15);
      t.set_battery_amperes(amperes);
    };
  };
  Pass(kSecond, with(1.5));
  EXPECT_EQ(state(), CareState::kFree);
  Pass(kMinute, with(-1.5));
  EXPECT_EQ(state(), CareState::kThrottled);
  care_ = {};
  Pass(kSecond, [](Telemetry& t) { t.set_battery_level(0.15); });
  EXPECT_EQ(state(), CareState::kThrottled) << "not known counts as not charging";
}

TEST_F(NodeCareTest, HeatPausesAndStops) {
  telemetry_.set_battery_celsius(44.9);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  telemetry_.set_battery_celsius(45);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kPaused);
  telemetry_.set_battery_celsius(42);
  Pass(10 * kMinute);
  EXPECT_EQ(state(), CareState::kPaused);
  telemetry_.set_battery_celsius(41.9);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  telemetry_.set_battery_celsius(50);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kStopped);
  telemetry_.set_battery_celsius(40);
  Pass(30 * kMinute);
  EXPECT_EQ(state(), CareState::kStopped);
  telemetry_.set_battery_celsius(39.9);
  Pass(2 * kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_, (News{"pauses: battery 45.0 °C, 45 °C or more", "works again: battery 41.9 °C",
                         "stops: battery 50.0 °C, 50 °C or more", "works again: battery 39.9 °C"}));
}

TEST_F(NodeCareTest, ASensorThatVanishesCountsForAWhile) {
  telemetry_.set_battery_celsius(46);
  Pass(kMinute);
  telemetry_.clear_battery_celsius();
  Pass(5 * kMinute);
  EXPECT_EQ(state(), CareState::kPaused);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_.back(), "works again: its battery's heat is not known any more");
}

TEST_F(NodeCareTest, OnlyWhileCharging) {
  wire::pb::Wishes wishes;
  wishes.set_only_charging(true);
  care_.SetWishes(wishes);
  Battery(0.8, true);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kFree);
  Battery(0.8, false);
  Pass(kMinute);
  EXPECT_EQ(state(), CareState::kDrained);
  EXPECT_EQ(news_, News{"rests: not charging, and only then it is to work"});
  care_.SetRules({.only_charging = false});
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  care_.SetRules({});
  telemetry_ = {};
  Pass(10 * kMinute);
  EXPECT_EQ(care_.verdict().why, "not charging, and only then it is to work");
  Battery(0.8, true);
  Pass(2 * kMinute);
  EXPECT_EQ(news_.back(), "works again: charging");
}

TEST_F(NodeCareTest, OnlyAtItsHours) {
  wire::pb::Wishes wishes;
  wishes.set_hours_begin(22 * 60);
  wishes.set_hours_end(7 * 60);
  care_.SetWishes(wishes);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree) << "without a clock hours do not count";
  minute_ = 12 * 60;
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kDrained);
  minute_ = 22 * 60;
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  minute_ = 3 * 60;
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  minute_ = 7 * 60;
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kDrained);
  EXPECT_EQ(care_.verdict().why, "its hours are 22-7");
  care_.SetRules({.hours = DayHours{}});
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  wishes.set_hours_begin(1'000'000);
  care_.SetRules({});
  care_.SetWishes(wishes);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree) << "no such hours";
}

TEST_F(NodeCareTest, AnOperatorMaySetTheFloorAndTheDuty) {
  care_.SetRules({.duty = 0.6, .floor = 0.4});
  Battery(0.45, false);
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kThrottled);
  EXPECT_EQ(care_.verdict().duty, 0.3);
  Battery(0.39, false);
  Pass(kSecond);
  EXPECT_EQ(care_.verdict().why, "battery 39 %, floor 40 %");
  care_.SetRules({});
  Pass(kSecond);
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_EQ(news_.back(), "works again: other rules");
}

TEST_F(NodeCareTest, NumbersMayBeAnything) {
  Battery(0.8, true);
  telemetry_.set_battery_celsius(30);
  Pass(kMinute);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {std::nan(""), kInfinity, -kInfinity, 1e300, -5000.0}) {
    Pass(kMinute, [&](Telemetry& t) {
      t.set_battery_level(wrong);
      t.set_battery_celsius(wrong);
      t.set_battery_amperes(wrong);
    });
  }
  EXPECT_EQ(state(), CareState::kFree);
  EXPECT_TRUE(news_.empty()) << news_.front();
}

// A liar that says anything at all costs its cluster a few moves an hour.
TEST_F(NodeCareTest, RandomNumbersDoNotMakeItFlap) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    care_ = {};
    news_.clear();
    for (int i = 0; i < 200; ++i) {
      Pass(random.Between(1, 300) * kSecond, [&](Telemetry& t) {
        if (random.Chance(0.8)) t.set_battery_level(random.Unit());
        if (random.Chance(0.8)) t.set_battery_celsius(20 + 40 * random.Unit());
        if (random.Chance(0.8)) t.set_charging(random.Chance(0.5));
      });
    }
    EXPECT_LE(news_.size(), 8U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::coordinator
