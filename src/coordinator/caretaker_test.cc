#include "coordinator/caretaker.h"

#include <gtest/gtest.h>

namespace shoal::coordinator {
namespace {

using News = std::vector<std::string>;

constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr Instant kNow{std::chrono::hours(1)};

wire::pb::NodeHello Hello(const std::string& name) {
  wire::pb::NodeHello hello;
  hello.set_name(name);
  return hello;
}

wire::pb::Telemetry Doubting(const std::vector<std::string>& doubts) {
  wire::pb::Telemetry telemetry;
  for (const std::string& doubt : doubts) telemetry.add_doubts(doubt);
  return telemetry;
}

wire::pb::Telemetry Empty() {
  wire::pb::Telemetry telemetry;
  telemetry.set_battery_level(0.05);
  return telemetry;
}

TEST(CaretakerTest, NamesWhoRests) {
  Caretaker caretaker({}, {});
  caretaker.OnHello(kA, Hello("kitchen"));
  caretaker.OnTelemetry(kA, Empty(), kNow);
  EXPECT_EQ(caretaker.Look(kA, kNow), News{"node 2 (kitchen) rests: battery 5 %, floor 10 %"});
  EXPECT_TRUE(caretaker.Look(kA, kNow).empty());
  caretaker.OnHello(kB, Hello("\x1b[2J"));
  caretaker.OnTelemetry(kB, Empty(), kNow);
  EXPECT_EQ(caretaker.Look(kB, kNow), News{"node 3 rests: battery 5 %, floor 10 %"});
}

TEST(CaretakerTest, RulesOfFormerDaysCount) {
  Caretaker caretaker({}, {{kA, {.floor = 0.02}}});
  caretaker.OnHello(kA, Hello(""));
  caretaker.OnTelemetry(kA, Empty(), kNow);
  (void)caretaker.Look(kA, kNow);
  EXPECT_EQ(caretaker.VerdictOn(kA).state, CareState::kThrottled);
}

TEST(CaretakerTest, HoursAreThoseOfTheHead) {
  int minute = 600;
  Caretaker caretaker([&] { return minute; }, {{kA, {.hours = DayHours{700, 800}}}});
  (void)caretaker.Look(kA, kNow);
  EXPECT_EQ(caretaker.VerdictOn(kA).why, "its hours are 11:40-13:20");
  minute = 700;
  (void)caretaker.Look(kA, kNow);
  EXPECT_EQ(caretaker.VerdictOn(kA).state, CareState::kFree);
}

TEST(CaretakerTest, ASensorOutOfOrderIsToldOnce) {
  Caretaker caretaker({}, {});
  caretaker.OnHello(kA, Hello("kitchen"));
  const auto tell = [&](const std::vector<std::string>& doubts, Duration after) {
    caretaker.OnTelemetry(kA, Doubting(doubts), kNow + after);
    return caretaker.Look(kA, kNow + after);
  };
  EXPECT_EQ(tell({"power: 4200 W cannot be; ignored", "charger: gone"}, {}),
            News{"node 2 (kitchen) has a sensor out of order: power: 4200 W cannot be; ignored; "
                 "charger: gone"});
  EXPECT_TRUE(tell({"power: 4200 W cannot be; ignored"}, std::chrono::seconds(1)).empty());
  EXPECT_TRUE(tell({}, std::chrono::seconds(2)).empty());
  EXPECT_TRUE(tell({"power: 1 W, 2 W, 3 W"}, std::chrono::seconds(3)).empty()) << "it flaps";
  EXPECT_TRUE(tell({}, std::chrono::minutes(20)).empty());
  EXPECT_EQ(tell({"power: -1 W"}, std::chrono::minutes(21)).size(), 1U);
}

TEST(CaretakerTest, WhatANodeSaysIsLookedAtFirst) {
  Caretaker caretaker({}, {});
  caretaker.OnHello(kA, Hello("kitchen"));
  const std::vector<std::string> garbage = {"\x1b[2J: boo", std::string(300, 'x'), "\xff"};
  caretaker.OnTelemetry(kA, Doubting(garbage), kNow);
  EXPECT_TRUE(caretaker.Look(kA, kNow).empty());
  EXPECT_TRUE(PlainDoubts(Doubting(garbage)).empty());
  EXPECT_EQ(PlainDoubts(Doubting({"charger: gone", "\x1b[2J"})), News{"charger: gone"});
  EXPECT_LE(PlainDoubts(Doubting(std::vector<std::string>(1000, "power: -1 W"))).size(), 8U);
  std::size_t told = 0;
  for (int i = 0; i < 1000; ++i) {
    caretaker.OnTelemetry(kA, Doubting({"sensor " + std::to_string(i) + ": no"}), kNow);
    told += caretaker.Look(kA, kNow).size();
  }
  EXPECT_LE(told, 32U);
}

TEST(CaretakerTest, AnswersWaitForThoseThatRest) {
  Caretaker caretaker({}, {});
  Roster roster;
  for (const NodeId node : {kA, kB}) {
    roster.Arrived(node, kNow);
    roster.Find(node)->greeted = true;
    caretaker.OnHello(node, Hello(""));
  }
  EXPECT_EQ(caretaker.WhyWaiting("too few", roster), "too few");
  caretaker.OnTelemetry(kA, Empty(), kNow);
  (void)caretaker.Look(kA, kNow);
  roster.Find(kA)->resting = true;
  EXPECT_EQ(caretaker.WhyWaiting("", roster), "");
  EXPECT_EQ(caretaker.WhyWaiting("too few", roster),
            "too few; resting: node 2: battery 5 %, floor 10 %");
  caretaker.OnTelemetry(kB, Empty(), kNow);
  (void)caretaker.Look(kB, kNow);
  roster.Find(kB)->resting = true;
  EXPECT_EQ(caretaker.WhyWaiting("too few", roster),
            "all phones rest: node 2: battery 5 %, floor 10 %; node 3: battery 5 %, floor 10 %");
}

}  // namespace
}  // namespace shoal::coordinator
