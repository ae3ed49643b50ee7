// Goal: processes die, freeze and come back as phones do, and every fault does what its
// name says and nothing else happens.
// Method: stories with recorders, one fault at a time.
#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/recorder_for_test.h"

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Log = std::vector<std::string>;

TEST(WorldTest, AKilledProcessIsNoticedAtOnceAndLeavesNothingBehind) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.clock(2).CallAfter(seconds(1), [] { ADD_FAILURE() << "a timer of the dead"; });
  ASSERT_TRUE(nodes.executor(2)
                  .Submit({.tag = {},
                           .work = {.operations = 1e9, .bytes_moved = 0},
                           .run = {},
                           .done = [](JobTag) { ADD_FAILURE() << "a job of the dead"; }})
                  .ok());
  ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, 1).ok());
  nodes.world().Crash(NodeId{2}, Death::kKilled);
  EXPECT_FALSE(nodes.world().IsRunning(NodeId{2}));
  nodes.world().RunFor(milliseconds(10));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 unavailable"}));
  nodes.world().RunFor(seconds(10));
  EXPECT_EQ(nodes.at(2).log, Log{});
  nodes.world().Restart(NodeId{2});
  EXPECT_EQ(nodes.at(2).log, (Log{"start"}));
}

TEST(WorldTest, APhoneThatLostPowerIsNoticedBySilence) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Crash(NodeId{2}, Death::kPowerLoss);
  nodes.world().RunFor(milliseconds(4900));
  EXPECT_EQ(nodes.at(1).log, Log{});
  nodes.world().RunFor(milliseconds(200));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 deadline exceeded"}));
}

TEST(WorldTest, APhoneThatIsBackBeforeItWasMissedResetsItsOldLinks) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Crash(NodeId{2}, Death::kPowerLoss);
  nodes.world().RunFor(seconds(1));
  nodes.world().Restart(NodeId{2});
  nodes.world().RunFor(seconds(2));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 unavailable"}));
}

TEST(WorldTest, AShortFreezeDelaysAndLosesNothing) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Freeze(NodeId{2});
  nodes.clock(2).CallAfter(seconds(1), [&] { nodes.at(2).Note("timer"); });
  nodes.world().RunFor(seconds(2));
  ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, 1).ok());
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.at(2).log, Log{});
  nodes.world().Thaw(NodeId{2});
  nodes.world().RunFor(seconds(5));
  EXPECT_EQ(nodes.at(2).log, (Log{"timer", "frame 1 0 1"}));
  EXPECT_EQ(nodes.at(1).log, Log{});
}

TEST(WorldTest, APhoneThatWakesUpIsAStranger) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Freeze(NodeId{2});
  nodes.world().RunFor(seconds(6));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 deadline exceeded"}));
  nodes.world().Thaw(NodeId{2});
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.at(2).log, (Log{"down 1 unavailable"}));
}

TEST(WorldTest, ASplitSeparatesTheIslandFromTheRestAndNobodyElse) {
  RecordedWorld nodes(4);
  nodes.Join(1, 2);
  nodes.Join(3, 4);
  nodes.Join(1, 3);
  nodes.world().Split({NodeId{1}, NodeId{2}});
  nodes.world().RunFor(seconds(6));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 3 deadline exceeded"}));
  EXPECT_EQ(nodes.at(2).log, Log{});
  EXPECT_EQ(nodes.at(4).log, Log{});
  nodes.world().Rejoin();
  nodes.Connect(1, 3);
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.at(1).log.back(), "up 3");
}

TEST(WorldTest, HealingRepairsEverything) {
  RecordedWorld nodes(4);
  nodes.world().Crash(NodeId{2}, Death::kPowerLoss);
  nodes.world().Freeze(NodeId{3});
  nodes.world().CutCable(NodeId{4}, NodeId{1});
  nodes.world().Split({NodeId{4}});
  nodes.world().RunFor(seconds(1));
  nodes.world().Heal();
  for (std::size_t i = 2; i <= 4; ++i) nodes.Connect(i, 1);
  nodes.world().RunFor(seconds(1));
  for (std::size_t i = 2; i <= 4; ++i) {
    EXPECT_TRUE(nodes.at(1).Saw("up " + std::to_string(i))) << i;
    EXPECT_TRUE(nodes.world().WakefulnessOf(NodeId{i}).awake);
  }
}

TEST(WorldTest, RunUntilStopsAtTheEventThatMadeItTrue) {
  RecordedWorld nodes(1);
  int runs = 0;
  for (int i = 1; i <= 9; ++i) nodes.clock(1).CallAfter(seconds(i), [&] { ++runs; });
  EXPECT_TRUE(nodes.world().RunUntil([&] { return runs == 3; }, seconds(100)));
  EXPECT_EQ(nodes.world().now(), seconds(3));
  EXPECT_FALSE(nodes.world().RunUntil([&] { return runs == 99; }, seconds(100)));
  EXPECT_EQ(nodes.world().now(), seconds(103));
  EXPECT_EQ(runs, 9);
}

TEST(WorldTest, CancelledTimersDoNotPileUp) {
  RecordedWorld nodes(1);
  Clock& clock = nodes.clock(1);
  int runs = 0;
  for (int i = 0; i < 200'000; ++i) {
    clock.Cancel(clock.CallAfter(std::chrono::hours(1), [&] { ++runs; }));
    if (i % 1000 == 0) nodes.world().RunFor(milliseconds(1));
  }
  clock.CallAfter(seconds(1), [&] { runs += 10; });
  nodes.world().RunFor(seconds(2));
  EXPECT_EQ(runs, 10);
  EXPECT_LT(nodes.world().queue_size(), 20'000U);
}

// A death must not be noticed through what its destructor does.
class LoudProgram final : public Program {
 public:
  explicit LoudProgram(const Surroundings& around) : around_(around) {}
  LoudProgram(const LoudProgram&) = delete;
  LoudProgram& operator=(const LoudProgram&) = delete;
  ~LoudProgram() override {
    around_.clock.CallAfter(seconds(1), [] { ADD_FAILURE(); });
    around_.network.Connect(NodeId{2}, "sim:2");
    EXPECT_EQ(around_.network.Send(NodeId{2}, Traffic::kControl, {}).code(), Code::kUnavailable);
    EXPECT_EQ(around_.executor.Submit({}).code(), Code::kUnavailable);
  }

 private:
  const Surroundings around_;
};

TEST(WorldTest, TheDeadCannotActInTheirDestructors) {
  RecordedWorld nodes(2);
  nodes.world().AddNode(
      NodeId{9}, [](const Surroundings& around) { return std::make_unique<LoudProgram>(around); });
  nodes.world().Crash(NodeId{9}, Death::kKilled);
  nodes.world().RunFor(seconds(10));
  EXPECT_EQ(nodes.at(2).log, (Log{"start"}));
}

TEST(WorldTest, EachProcessDrawsNumbersOfItsOwn) {
  RecordedWorld nodes(2);
  const std::uint64_t first = nodes.world().SurroundingsOf(NodeId{1}).random.Bits();
  EXPECT_NE(first, nodes.world().SurroundingsOf(NodeId{2}).random.Bits());
  nodes.world().Crash(NodeId{1}, Death::kKilled);
  nodes.world().Restart(NodeId{1});
  EXPECT_NE(first, nodes.world().SurroundingsOf(NodeId{1}).random.Bits());
}

TEST(WorldTest, TheTranscriptTellsTheStory) {
  RecordedWorld nodes(7);
  Log lines;
  nodes.world().SetTranscript([&](std::string_view line) { lines.emplace_back(line); });
  nodes.world().RunFor(milliseconds(1204));
  nodes.world().Crash(NodeId{7}, Death::kKilled);
  nodes.world().RunFor(seconds(2));
  nodes.world().Restart(NodeId{7});
  nodes.world().Split({NodeId{1}, NodeId{2}});
  EXPECT_EQ(lines, (Log{"[  1.204s] node 7: killed", "[  3.204s] node 7: started again",
                        "[  3.204s] cut off: 2 nodes"}));
}

}  // namespace
}  // namespace shoal::sim
