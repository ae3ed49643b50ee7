// What a Network promises (src/base/network.h) of links that can be slow, be cut or fall silent,
// which those between threads cannot; one test a promise.
#include <chrono>

#include "contract/network_fixture.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using NetworkOverCables = NetworkContract;

TEST_P(NetworkOverCables, ControlOvertakesActivations) {
  Join(kA, kB);
  world_->LimitCable(kA, kB, 20e6);
  ASSERT_TRUE(At(kA).Send(kB, Traffic::kActivations, Frame(std::size_t{4} << 20)).ok());
  Pass(milliseconds(200));
  ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(10)).ok());
  ASSERT_TRUE(Await([&] { return At(kB).received.size() == 2; }));
  EXPECT_EQ(At(kB).received.front().traffic, Traffic::kControl);
}

TEST_P(NetworkOverCables, ACutCableIsNoticedByBothSides) {
  Join(kA, kB);
  world_->CutCable(kA, kB);
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty() && !At(kB).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(At(kB).downs.front().why.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(At(kA).Send(kB, Traffic::kControl, Frame(1)).code(), Code::kUnavailable);
  world_->RepairCable(kA, kB);
  Join(kB, kA);
  EXPECT_EQ(At(kA).downs.size(), 1U);
}

TEST_P(NetworkOverCables, ACutCableUnderFullLoadIsNoticedByBothSides) {
  Join(kA, kB);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kActivations, Frame(kActivationsFrameBytesMax)).ok());
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kBulk, Frame(kBulkFrameBytesMax)).ok());
  }
  world_->CutCable(kA, kB);
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty() && !At(kB).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kDeadlineExceeded);
}

TEST_P(NetworkOverCables, DiallingWhereNobodyAnswersEnds) {
  At(kB);
  const std::string address = world_->AddressOf(kA, kB);
  world_->CutCable(kA, kB);
  At(kA).Connect(kB, address);
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().peer, kB);
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(At(kB).order.empty());
  world_->RepairCable(kA, kB);
  Join(kA, kB);
}

TEST_P(NetworkOverCables, DisconnectEndsDiallingWithoutAnEvent) {
  At(kB);
  const std::string address = world_->AddressOf(kA, kB);
  world_->CutCable(kA, kB);
  At(kA).Connect(kB, address);
  Pass(milliseconds(100));
  At(kA).Disconnect(kB);
  At(kA).Connect(kB, "not an address");
  At(kA).Disconnect(kB);
  Pass(seconds(5));
  EXPECT_TRUE(At(kA).order.empty());
}

TEST_P(NetworkOverCables, ANewLinkReplacesOneThatThePeerHasForgotten) {
  Join(kA, kB);
  world_->CutCable(kA, kB);
  At(kA).Disconnect(kB);  // B cannot hear it: A restarted without a word.
  world_->RepairCable(kA, kB);
  Join(kA, kB);
  EXPECT_EQ(At(kB).order, (std::vector<std::string>{"up", "down", "up"}));
  EXPECT_EQ(At(kB).downs.front().why.code(), Code::kCancelled);
  ASSERT_TRUE(At(kB).Send(kA, Traffic::kControl, Frame(5)).ok());
  ASSERT_TRUE(Await([&] { return At(kA).received.size() == 1; }));
}

TEST_P(NetworkOverCables, APeerThatStopsReadingFillsTheQueueAndIsDown) {
  Join(kA, kB);
  world_->Freeze(kB);
  bool refused = false;
  ASSERT_TRUE(Await([&] {
    const Status status = At(kA).Send(kB, Traffic::kBulk, Frame(kBulkFrameBytesMax));
    refused = refused || status.code() == Code::kResourceExhausted;
    return !At(kA).downs.empty();
  }));
  EXPECT_TRUE(refused);
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(At(kB).downs.empty());
  world_->Thaw(kB);
  ASSERT_TRUE(Await([&] { return !At(kB).downs.empty(); }));
  Join(kB, kA);
}

TEST_P(NetworkOverCables, AFrozenPeerDoesNotDisturbTheOthers) {
  Join(kA, kB);
  Join(kA, kC);
  world_->Freeze(kB);
  while (At(kA).Send(kB, Traffic::kActivations, Frame(kActivationsFrameBytesMax)).ok()) {
  }
  ASSERT_TRUE(At(kC).Send(kA, Traffic::kControl, Frame(1)).ok());
  ASSERT_TRUE(At(kA).Send(kC, Traffic::kActivations, Frame(1'000'000)).ok());
  ASSERT_TRUE(Await([&] { return At(kA).received.size() == 1 && At(kC).received.size() == 1; }));
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().peer, kB);
  EXPECT_TRUE(At(kC).downs.empty());
}

INSTANTIATE_TEST_SUITE_P(Over, NetworkOverCables, NetworksUnderTest(), NetworkName);

}  // namespace
}  // namespace shoal
