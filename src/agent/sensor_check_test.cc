// Goal: what cannot be is left out and named once, what can be is believed, and nothing flaps.
#include "agent/sensor_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/heat_guard.h"
#include "base/random.h"

namespace shoal::agent {
namespace {

using wire::pb::Telemetry;

constexpr Duration kReading = std::chrono::milliseconds(500);
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// A phone of 4 Ah that computes off the charger: 1 A, warm, all of it wavering a little.
Telemetry Healthy(double seconds) {
  const double noise = std::sin(seconds * 12.9898) * 0.02;
  Telemetry telemetry;
  telemetry.set_battery_level(std::ceil(80 - seconds / 3600 * 25) / 100);
  telemetry.set_battery_amperes(-1 + noise);
  telemetry.set_battery_celsius(std::round(370 + 30 * noise * 10) / 10);
  telemetry.set_watts(3.9 + noise);
  telemetry.set_charging(false);
  telemetry.set_cpu_share(0.9 + noise);
  telemetry.set_memory_pressure(0.01);
  return telemetry;
}

class SensorCheckTest : public testing::Test {
 protected:
  using Change = std::function<void(Telemetry&)>;

  // Readings for so long, each changed by `change`. What was believed last.
  Telemetry Run(Duration time, const Change& change = {}, bool working = true) {
    Telemetry telemetry;
    for (Duration at{0}; at < time; at += kReading) {
      now_ += kReading;
      telemetry = Healthy(ToSeconds(now_));
      if (change) change(telemetry);
      check_.Check(telemetry, {now_}, working);
      std::set<std::string> doubts(telemetry.doubts().begin(), telemetry.doubts().end());
      for (const std::string& doubt : doubts) {
        if (!doubts_.contains(doubt)) said_.push_back(doubt);
      }
      doubts_ = std::move(doubts);
    }
    return telemetry;
  }

  SensorCheck check_;
  Duration now_{0};
  std::set<std::string> doubts_;
  std::vector<std::string> said_;  // Whenever a doubt began.
};

TEST_F(SensorCheckTest, AHealthyPhoneIsBelieved) {
  const Telemetry last = Run(std::chrono::hours(2));
  EXPECT_TRUE(said_.empty()) << said_.front();
  EXPECT_TRUE(last.has_battery_level() && last.has_battery_amperes() &&
              last.has_battery_celsius() && last.has_watts() && last.has_charging() &&
              last.has_cpu_share());
}

TEST_F(SensorCheckTest, WhatCannotBeIsNamedOnceAndBelievedAgainLater) {
  Run(std::chrono::minutes(1));
  Run(std::chrono::minutes(3), [](Telemetry& t) { t.set_battery_celsius(3276.7); });
  EXPECT_EQ(said_, std::vector<std::string>{"battery temperature: 3276.7 °C cannot be; ignored"});
  EXPECT_FALSE(Run(std::chrono::seconds(59)).has_battery_celsius());
  const Telemetry later = Run(std::chrono::seconds(2));
  EXPECT_TRUE(later.has_battery_celsius());
  EXPECT_TRUE(later.doubts().empty());
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SensorCheckTest, NoNonsenseComesThrough) {
  const std::map<std::string, Change> nonsense = {
      {"battery level: a share of 1.01 cannot be; ignored",
       [](Telemetry& t) { t.set_battery_level(1.01); }},
      {"battery level: a share of -0.5 cannot be; ignored",
       [](Telemetry& t) { t.set_battery_level(-0.5); }},
      {"battery level: no number; ignored", [](Telemetry& t) { t.set_battery_level(kNoNumber); }},
      {"battery temperature: no number; ignored",
       [](Telemetry& t) { t.set_battery_celsius(std::numeric_limits<double>::infinity()); }},
      {"battery temperature: -40.0 °C cannot be; ignored",
       [](Telemetry& t) { t.set_battery_celsius(-40); }},
      {"battery current: 1200 A cannot be; ignored",
       [](Telemetry& t) { t.set_battery_amperes(1200); }},
      {"power: 4200 W cannot be; ignored", [](Telemetry& t) { t.set_watts(4200); }},
      {"power: -3 W cannot be; ignored", [](Telemetry& t) { t.set_watts(-3); }},
      {"CPU load: 17 of all cores cannot be; ignored", [](Telemetry& t) { t.set_cpu_share(17); }},
      {"memory pressure: no number; ignored",
       [](Telemetry& t) { t.set_memory_pressure(kNoNumber); }},
  };
  for (const auto& [doubt, change] : nonsense) {
    check_ = {};
    said_.clear();
    Run(std::chrono::seconds(10), change);
    EXPECT_EQ(said_, std::vector<std::string>{doubt});
  }
}

TEST_F(SensorCheckTest, WattsThatWereMadeOfAWrongCurrentGoWithIt) {
  const auto wrong = [](Telemetry& t) { t.set_battery_amperes(-900); };
  EXPECT_FALSE(Run(std::chrono::seconds(1), wrong).has_watts());
  const auto told_by_the_owner = [&](Telemetry& t) {
    wrong(t);
    t.set_watts_estimated(true);
  };
  EXPECT_TRUE(Run(std::chrono::seconds(1), told_by_the_owner).has_watts());
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SensorCheckTest, TheLevelTellsAWrongSign) {
  const auto reversed = [](Telemetry& t) { t.set_battery_amperes(-t.battery_amperes()); };
  const Telemetry last = Run(std::chrono::hours(2), reversed);
  EXPECT_FALSE(last.has_battery_amperes());
  ASSERT_EQ(said_.size(), 1U) << said_.back();
  EXPECT_EQ(said_[0].find("battery current: says that the battery is being charged, and its level"),
            0U)
      << said_[0];
  // Put right, it takes a few percent until it is believed.
  EXPECT_TRUE(Run(std::chrono::minutes(20)).has_battery_amperes());
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SensorCheckTest, TheLevelTellsACurrentThatIsOutByAThousand) {
  const auto as_if_micro = [](Telemetry& t) { t.set_battery_amperes(t.battery_amperes() / 1000); };
  EXPECT_FALSE(Run(std::chrono::hours(1), as_if_micro).has_battery_amperes());
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_NE(said_[0].find("of the battery cannot be"), std::string::npos) << said_[0];
}

TEST_F(SensorCheckTest, ChargeThatMovesNoLevelIsNone) {
  const auto idle_but = [](Telemetry& t) {
    t.set_charging(true);
    t.set_battery_level(0.8);
    t.set_battery_amperes(3 + t.battery_amperes() / 100);  // 3 mA, read as A.
  };
  EXPECT_FALSE(Run(std::chrono::hours(1), idle_but).has_battery_amperes());
  EXPECT_EQ(said_, std::vector<std::string>{
                       "battery current: +1.0 Ah, and the level has not moved; ignored"});
}

TEST_F(SensorCheckTest, ACurrentThatLeapsAThousandfoldIsTwoUnits) {
  Run(std::chrono::minutes(5),
      [i = 0](Telemetry& t) mutable { t.set_battery_amperes(++i % 2 == 0 ? -9.9 : -0.0101); });
  EXPECT_EQ(said_,
            std::vector<std::string>{"battery current: leapt to -9.9 A; ignored: a thousandfold"});
}

TEST_F(SensorCheckTest, WhatDoesNotMoveWhileItWorksIsStuck) {
  const auto stuck = [](Telemetry& t) {
    t.set_battery_celsius(38.4);
    t.set_battery_amperes(-1.25);
  };
  EXPECT_TRUE(Run(std::chrono::minutes(9), stuck).has_battery_celsius());
  Run(std::chrono::minutes(30), stuck);
  EXPECT_EQ(said_, (std::vector<std::string>{
                       "battery current: -1.250 A for 10 minutes: it is stuck; ignored",
                       "battery temperature: 38.4 °C for 10 minutes: it is stuck; ignored"}));
  EXPECT_TRUE(Run(std::chrono::minutes(2)).has_battery_celsius());
}

TEST_F(SensorCheckTest, WhatMayRestIsNotStuck) {
  // Idle in a cool room, on the charger, full.
  const auto resting = [](Telemetry& t) {
    t.set_battery_celsius(24.5);
    t.set_battery_amperes(0);
    t.set_battery_level(1);
    t.set_charging(true);
  };
  Run(std::chrono::hours(8), resting, /*working=*/false);
  EXPECT_TRUE(said_.empty()) << said_.front();
  // A thermometer of whole degrees, and a charger that keeps the level at 80 %.
  const auto coarse = [](Telemetry& t) {
    t.set_battery_celsius(36);
    t.set_battery_amperes(0);
    t.set_battery_level(0.8);
    t.set_charging(true);
  };
  check_ = {};
  Run(std::chrono::minutes(50), coarse);
  EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(SensorCheckTest, AHotThermometerThatIsStuckDoesNotStopAPhoneForEver) {
  Run(
      std::chrono::minutes(12), [](Telemetry& t) { t.set_battery_celsius(46.5); },
      /*working=*/false);
  ASSERT_EQ(said_.size(), 1U);
}

TEST_F(SensorCheckTest, ALevelThatStaysWhileThePhoneComputesOffTheChargerIsStuck) {
  const auto stuck = [](Telemetry& t) {
    t.set_battery_level(0.6);
    t.clear_battery_amperes();
  };
  Run(std::chrono::minutes(61), stuck);
  EXPECT_EQ(said_,
            std::vector<std::string>{"battery level: 60 % for 60 minutes: it is stuck; ignored"});
}

TEST_F(SensorCheckTest, ALevelThatLeapsIsBelievedWhenItStays) {
  Run(std::chrono::minutes(1));
  const auto low = [](Telemetry& t) { t.set_battery_level(0.12); };
  EXPECT_FALSE(Run(std::chrono::seconds(1), low).has_battery_level());
  EXPECT_TRUE(Run(std::chrono::minutes(1), low).has_battery_level());
  EXPECT_EQ(said_, std::vector<std::string>{"battery level: leapt to 12 %; ignored"});
}

TEST_F(SensorCheckTest, FilesThatVanishAreMissedAndThoseThatFlickerAreNot) {
  Run(std::chrono::minutes(1));
  Run(std::chrono::minutes(10), [i = 0](Telemetry& t) mutable {
    if (++i % 3 == 0) t.clear_battery_level();
  });
  EXPECT_TRUE(said_.empty()) << said_.front();
  const auto gone = [](Telemetry& t) { t.clear_battery_level(); };
  Run(std::chrono::minutes(10), gone);
  EXPECT_EQ(said_, std::vector<std::string>{"battery level: can no longer be read"});
  EXPECT_FALSE(Run(std::chrono::seconds(30)).has_battery_level());
  EXPECT_TRUE(Run(std::chrono::seconds(31)).has_battery_level());
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SensorCheckTest, WhatWasNeverThereIsNotMissed) {
  Run(std::chrono::minutes(10), [](Telemetry& t) { t = {}; });
  EXPECT_TRUE(said_.empty());
}

TEST_F(SensorCheckTest, AChargerThatIsTooWeakDoesNotCount) {
  const auto weak = [](Telemetry& t) {
    t.set_charging(true);
    t.set_battery_level(t.battery_level() - 0.4);
    t.clear_battery_amperes();
  };
  EXPECT_TRUE(Run(std::chrono::minutes(4), weak).has_charging());
  EXPECT_FALSE(Run(std::chrono::minutes(30), weak).has_charging());
  EXPECT_EQ(said_, std::vector<std::string>{
                       "charger: connected, and the level went from 40 to 37 %; does not count"});
}

TEST_F(SensorCheckTest, APhoneThatSleptHasNothingToExplain) {
  Run(std::chrono::minutes(1));
  now_ += std::chrono::hours(1);  // Meanwhile it lost 25 %.
  Run(std::chrono::minutes(1));
  EXPECT_TRUE(said_.empty()) << said_.front();
}

// Any fault, at any time, for any while, of any sensor.
TEST_F(SensorCheckTest, NothingFlapsWhateverBreaks) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    check_ = {};
    said_.clear();
    doubts_.clear();
    std::size_t faults = 0;
    for (Duration at{0}; at < std::chrono::hours(4);) {
      const Duration well = std::chrono::seconds(random.Between(1, 600));
      const Duration ill = std::chrono::seconds(random.Between(1, 300));
      const std::uint64_t kind = random.Below(7);
      Run(well);
      Run(ill, [&](Telemetry& t) {
        switch (kind) {
          case 0:
            return t.set_battery_celsius(random.Chance(0.5) ? kNoNumber : 3276.7);
          case 1:
            return t.set_battery_level(static_cast<double>(random.Below(101)) / 100);
          case 2:
            return t.set_battery_amperes(t.battery_amperes() * (random.Chance(0.5) ? 1000 : 1));
          case 3:
            return t.set_battery_amperes(-t.battery_amperes());
          case 4:
            return t.set_battery_celsius(38.1);
          case 5:
            return t.clear_battery_level();
          default:
            return t.set_charging(random.Chance(0.5));
        }
      });
      ++faults;
      at += well + ill;
    }
    EXPECT_LE(said_.size(), faults) << "seed " << seed;
  }
}

TEST(HeatGuardTest, HoldsUntilItIsCoolOrNobodyKnows) {
  HeatGuard guard;
  const auto at = [](int minutes) { return Instant{std::chrono::minutes(minutes)}; };
  guard.Update(49.9, at(1));
  EXPECT_FALSE(guard.hot());
  guard.Update(50, at(2));
  EXPECT_TRUE(guard.hot());
  guard.Update(40, at(3));
  EXPECT_TRUE(guard.hot());
  guard.Update(39.9, at(4));
  EXPECT_FALSE(guard.hot());
  guard.Update(51, at(5));
  guard.Update(std::nullopt, at(14));
  EXPECT_TRUE(guard.hot());
  guard.Update(std::nullopt, at(15));
  EXPECT_FALSE(guard.hot());
}

}  // namespace
}  // namespace shoal::agent
