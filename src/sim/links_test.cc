// Goal: connections of a World live and die as those of TCP do. What base/network.h
// promises to every implementation is in tests/contract; here is what only sim/ says.
#include "sim/links.h"

#include <gtest/gtest.h>

#include "sim/recorder_for_test.h"

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Log = std::vector<std::string>;

TEST(LinksTest, DiallingTakesARoundTrip) {
  RecordedWorld nodes(2);
  nodes.Connect(1, 2);
  nodes.world().RunFor(milliseconds(1));
  EXPECT_EQ(nodes.at(2).log, (Log{"start", "up 1"}));
  EXPECT_EQ(nodes.at(1).log, (Log{"start"}));
  nodes.world().RunFor(milliseconds(1));
  EXPECT_EQ(nodes.at(1).log, (Log{"start", "up 2"}));
}

TEST(LinksTest, TheAnswerToADialThatWasGivenUpIsNotForTheNextOne) {
  RecordedWorld nodes(2);
  nodes.Connect(1, 2);
  nodes.world().RunFor(milliseconds(1));  // Accepted; the answer is on its way.
  nodes.network(1).Disconnect(NodeId{2});
  nodes.Connect(1, 2);
  nodes.world().RunFor(milliseconds(1));
  EXPECT_EQ(nodes.at(1).log, (Log{"start"}));
  nodes.world().RunFor(milliseconds(1));
  EXPECT_EQ(nodes.at(1).log, (Log{"start", "up 2"}));
}

TEST(LinksTest, CrossingDialsBecomeOneLink) {
  RecordedWorld nodes(2);
  nodes.Connect(1, 2);
  nodes.Connect(2, 1);
  nodes.world().RunFor(seconds(10));
  EXPECT_EQ(nodes.at(1).log, (Log{"start", "up 2"}));
  EXPECT_EQ(nodes.at(2).log, (Log{"start", "up 1"}));
  EXPECT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, 7).ok());
  nodes.world().RunFor(seconds(1));
  EXPECT_TRUE(nodes.at(2).Saw("frame 1 0 7"));
}

TEST(LinksTest, DialsFailForTheReasonTheyFail) {
  RecordedWorld nodes(3);
  nodes.world().Crash(NodeId{2}, Death::kKilled);
  nodes.Connect(1, 2);                                 // Refused.
  nodes.network(1).Connect(NodeId{3}, "sim:2");        // Somebody else lives there.
  nodes.network(1).Connect(NodeId{1}, "sim:1");        // Itself.
  nodes.network(1).Connect(NodeId{4}, "192.168.1.7");  // Not an address here.
  nodes.network(1).Connect(NodeId{5}, "sim:5");        // Nobody lives there.
  nodes.world().RunFor(seconds(4));
  EXPECT_EQ(nodes.at(1).log, (Log{"start", "down 4 invalid argument", "down 3 invalid argument",
                                  "down 1 invalid argument", "down 2 unavailable"}));
  nodes.world().RunFor(seconds(4));
  EXPECT_EQ(nodes.at(1).log.back(), "down 5 deadline exceeded");
}

TEST(LinksTest, ADialOutlastsAShortCut) {
  RecordedWorld nodes(2);
  nodes.world().CutCable(NodeId{2}, NodeId{1});  // The answer is swallowed.
  nodes.Connect(1, 2);
  nodes.world().RunFor(seconds(2));
  EXPECT_EQ(nodes.at(1).log, (Log{"start"}));
  ASSERT_TRUE(nodes.Send(2, 1, Traffic::kControl, 1, 5).ok());
  nodes.world().RepairCable(NodeId{2}, NodeId{1});
  nodes.world().RunFor(seconds(2));
  EXPECT_EQ(nodes.at(1).log, (Log{"start", "up 2", "frame 2 0 5"}));
}

TEST(LinksTest, HangingUpReachesOnlyTheOtherSideAndAfterWhatWasSent) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, 1).ok());
  nodes.network(1).Disconnect(NodeId{2});
  EXPECT_EQ(nodes.Send(1, 2, Traffic::kControl, 1).code(), Code::kUnavailable);
  nodes.world().RunFor(seconds(10));
  EXPECT_EQ(nodes.at(1).log, Log{});
  EXPECT_EQ(nodes.at(2).log, (Log{"frame 1 0 1", "down 1 unavailable"}));
}

TEST(LinksTest, ANewLinkReplacesOneThatOnlyTheOtherSideRemembers) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Crash(NodeId{1}, Death::kPowerLoss);
  nodes.world().Restart(NodeId{1});
  nodes.Connect(1, 2);
  nodes.world().RunFor(seconds(10));
  EXPECT_EQ(nodes.at(2).log, (Log{"down 1 cancelled", "up 1"}));
}

TEST(LinksTest, ARedialThatOvertakesTheResetReplacesTheLink) {
  // With jitter the reset and the dial that follows it arrive in any order.
  bool replaced = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RecordedWorld nodes(2, {.seed = seed, .faults = {.delay_jitter_mean = milliseconds(50)}});
    nodes.Join(1, 2);
    nodes.network(1).Disconnect(NodeId{2});
    nodes.Connect(1, 2);
    nodes.world().RunFor(seconds(4));
    EXPECT_EQ(nodes.at(1).log, (Log{"up 2"}));
    ASSERT_EQ(nodes.at(2).log.size(), 2U);
    EXPECT_EQ(nodes.at(2).log[1], "up 1");
    replaced |= nodes.at(2).log[0] == "down 1 cancelled";
  }
  EXPECT_TRUE(replaced);
}

TEST(LinksTest, SilenceEndsALinkOnBothSides) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().CutCable(NodeId{1}, NodeId{2});
  nodes.world().CutCable(NodeId{2}, NodeId{1});
  nodes.world().RunFor(milliseconds(4999));
  EXPECT_EQ(nodes.at(1).log, Log{});
  nodes.world().RunFor(milliseconds(1));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 deadline exceeded"}));
  EXPECT_EQ(nodes.at(2).log, (Log{"down 1 deadline exceeded"}));
}

TEST(LinksTest, ADeafEndBringsTheOtherDown) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().CutCable(NodeId{2}, NodeId{1});
  nodes.world().RunFor(seconds(6));
  EXPECT_EQ(nodes.at(1).log, (Log{"down 2 deadline exceeded"}));
  EXPECT_EQ(nodes.at(2).log, (Log{"down 1 unavailable"}));
}

TEST(LinksTest, FramesSentIntoAShortCutArriveAfterIt) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().CutCable(NodeId{1}, NodeId{2});
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 1, i).ok());
  nodes.world().RunFor(seconds(1));
  nodes.world().RepairCable(NodeId{1}, NodeId{2});
  nodes.world().RunFor(milliseconds(390));  // TCP tries 0.2, 0.6 and 1.4 s after the cut.
  EXPECT_EQ(nodes.at(2).log, Log{});
  nodes.world().RunFor(milliseconds(20));
  EXPECT_EQ(nodes.at(2).log, (Log{"frame 1 0 1", "frame 1 0 2", "frame 1 0 3"}));
}

TEST(LinksTest, ControlArrivesWithin100msDuringABulkTransferOver10Megabits) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().LimitCable(NodeId{1}, NodeId{2}, 10e6);
  for (int i = 0; i < 100; ++i) {
    while (nodes.Send(1, 2, Traffic::kBulk, kBulkFrameBytesMax, 1).ok()) {
    }
    ASSERT_TRUE(nodes.Send(1, 2, Traffic::kControl, 100, 2).ok());
    nodes.world().RunFor(milliseconds(100));
    EXPECT_EQ(nodes.at(2).Count("frame 1 0 2"), i + 1);
  }
  // Ten seconds at 10 Mb/s are 12.5 MB: 47 pieces of 256 KiB.
  EXPECT_NEAR(nodes.at(2).Count("frame 1 2 1"), 47, 2);
  EXPECT_EQ(nodes.at(1).log, Log{});  // The queue was never half empty …
  nodes.world().RunFor(seconds(3));
  EXPECT_EQ(nodes.at(1).log, (Log{"writable 2 2"}));  // … and is now.
}

TEST(LinksTest, AReceiverThatStandsStillFillsTheQueueOfItsSender) {
  RecordedWorld nodes(2);
  nodes.Join(1, 2);
  nodes.world().Freeze(NodeId{2});
  std::size_t accepted = 0;
  while (nodes.Send(1, 2, Traffic::kControl, 1024).ok()) ++accepted;
  EXPECT_EQ(accepted * 1024, QueueBytesMax(Traffic::kControl));
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.at(1).log, Log{});
  nodes.world().Thaw(NodeId{2});
  nodes.world().RunFor(seconds(1));
  EXPECT_EQ(nodes.at(1).log, (Log{"writable 2 0"}));
  EXPECT_EQ(nodes.at(2).log.size(), accepted);
}

}  // namespace
}  // namespace shoal::sim
