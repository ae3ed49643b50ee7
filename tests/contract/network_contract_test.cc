// What every Network promises (src/base/network.h), one test a promise. What only those do that
// lie on cables is in network_cables_test.cc.
#include <array>
#include <chrono>

#include "contract/network_fixture.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kAllTraffic = {Traffic::kControl, Traffic::kActivations, Traffic::kBulk};

TEST_P(NetworkContract, ConnectBringsBothSidesUp) {
  Join(kA, kB);
  EXPECT_EQ(At(kA).ups, std::vector{kB});
  EXPECT_EQ(At(kB).ups, std::vector{kA});
  EXPECT_EQ(world_->node(kA).self(), kA);
}

TEST_P(NetworkContract, ConnectToAPeerThatIsUpOrBeingDialledDoesNothing) {
  At(kB);
  At(kA).Connect(kB, world_->AddressOf(kA, kB));
  Join(kA, kB);
  At(kA).Connect(kB, world_->AddressOf(kA, kB));
  At(kB).Connect(kA, world_->AddressOf(kB, kA));
  Pass(milliseconds(500));
  EXPECT_EQ(At(kA).order, std::vector<std::string>{"up"});
  EXPECT_EQ(At(kB).order, std::vector<std::string>{"up"});
}

TEST_P(NetworkContract, FramesOfAClassArriveWholeInOrderOnce) {
  Join(kA, kB);
  std::map<Traffic, std::vector<Frame>> sent;
  for (std::uint64_t i = 0; i < 200; ++i) {
    for (const Traffic traffic : kAllTraffic) {
      const std::size_t bytes = i % 10 == 9 ? 20'000 : i % 5 * 33;  // Some are empty.
      Frame frame = PatternFrame(i * 3 + static_cast<std::uint64_t>(traffic), bytes);
      sent[traffic].push_back(frame);
      ASSERT_TRUE(At(kA).Send(kB, traffic, std::move(frame)).ok());
    }
  }
  ASSERT_TRUE(Await([&] { return At(kB).received.size() >= 600; }));
  for (const Traffic traffic : kAllTraffic) EXPECT_EQ(At(kB).FramesOf(traffic), sent[traffic]);
  EXPECT_TRUE(At(kA).received.empty());
}

TEST_P(NetworkContract, BothDirectionsAtOnce) {
  Join(kA, kB);
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kActivations, PatternFrame(i, 50'000)).ok());
    ASSERT_TRUE(At(kB).Send(kA, Traffic::kActivations, PatternFrame(i, 50'000)).ok());
    if (i < 10) {
      ASSERT_TRUE(At(kA).Send(kB, Traffic::kBulk, PatternFrame(i, 200'000)).ok());
      ASSERT_TRUE(At(kB).Send(kA, Traffic::kBulk, PatternFrame(i, 200'000)).ok());
    }
  }
  ASSERT_TRUE(Await([&] { return At(kA).received.size() == 50 && At(kB).received.size() == 50; }));
  EXPECT_EQ(At(kA).FramesOf(Traffic::kBulk), At(kB).FramesOf(Traffic::kBulk));
  EXPECT_EQ(At(kA).FramesOf(Traffic::kActivations), At(kB).FramesOf(Traffic::kActivations));
}

TEST_P(NetworkContract, TheLargestFramesPassAndLargerOnesAreRefused) {
  Join(kA, kB);
  for (const Traffic traffic : kAllTraffic) {
    const Frame largest = PatternFrame(7, FrameBytesMax(traffic));
    EXPECT_TRUE(At(kA).Send(kB, traffic, largest).ok());
    EXPECT_EQ(At(kA).Send(kB, traffic, Frame(FrameBytesMax(traffic) + 1)).code(),
              Code::kInvalidArgument);
    ASSERT_TRUE(Await([&] { return At(kB).FramesOf(traffic).size() == 1; }));
    EXPECT_EQ(At(kB).FramesOf(traffic).front(), largest);
  }
}

TEST_P(NetworkContract, NothingIsSentToAPeerThatIsNotUp) {
  EXPECT_EQ(At(kA).Send(kB, Traffic::kControl, Frame(1)).code(), Code::kUnavailable);
  At(kB);
  At(kA).Connect(kB, world_->AddressOf(kA, kB));
  EXPECT_EQ(At(kA).Send(kB, Traffic::kControl, Frame(1)).code(), Code::kUnavailable);
  Join(kA, kB);
  At(kA).Disconnect(kB);
  EXPECT_EQ(At(kA).Send(kB, Traffic::kControl, Frame(1)).code(), Code::kUnavailable);
}

TEST_P(NetworkContract, AFullQueueRefusesAndTellsWhenItHasDrained) {
  Join(kA, kB);
  for (const Traffic traffic : kAllTraffic) {
    const std::size_t bytes = FrameBytesMax(traffic);
    std::size_t accepted = 0;
    Status status;
    // No event comes between: nothing can leave the queue for good.
    while ((status = At(kA).Send(kB, traffic, Frame(bytes))).ok()) {
      ASSERT_LE(++accepted * bytes, QueueBytesMax(traffic));
    }
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_GE((accepted + 1) * bytes, QueueBytesMax(traffic));
    EXPECT_TRUE(At(kA).writable.empty());
    ASSERT_TRUE(Await([&] { return !At(kA).writable.empty(); }));
    EXPECT_EQ(At(kA).writable, (std::vector{std::pair(kB, traffic)}));
    EXPECT_TRUE(At(kA).Send(kB, traffic, Frame(bytes)).ok());
    // What was refused is gone, what was accepted arrives.
    ASSERT_TRUE(Await([&] { return At(kB).received.size() == accepted + 1; }));
    EXPECT_EQ(At(kA).writable.size(), 1U);
    At(kA).writable.clear();
    At(kB).received.clear();
  }
}

TEST_P(NetworkContract, ManySmallFramesDoNotFillTheMemory) {
  Join(kA, kB);
  std::size_t accepted = 0;
  while (At(kA).Send(kB, Traffic::kControl, Frame()).ok()) {
    ASSERT_LT(++accepted, QueueBytesMax(Traffic::kControl));
  }
  EXPECT_GE(accepted, 1000U);
}

TEST_P(NetworkContract, AnIdleLinkStaysUp) {
  Join(kA, kB);
  Pass(seconds(5));
  EXPECT_TRUE(At(kA).downs.empty());
  EXPECT_TRUE(At(kB).downs.empty());
  ASSERT_TRUE(At(kB).Send(kA, Traffic::kControl, Frame(1)).ok());
  EXPECT_TRUE(Await([&] { return At(kA).received.size() == 1; }));
}

TEST_P(NetworkContract, SomethingThatIsNoAddressIsRefused) {
  At(kA).Connect(kB, "the phone on the shelf");
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().peer, kB);
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kInvalidArgument);
}

TEST_P(NetworkContract, AnotherNodeAtTheAddressIsRefused) {
  At(kB);
  At(kA).Connect(kC, world_->AddressOf(kA, kB));
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty(); }));
  EXPECT_EQ(At(kA).downs.front().peer, kC);
  EXPECT_EQ(At(kA).downs.front().why.code(), Code::kInvalidArgument);
  Pass(milliseconds(300));
  EXPECT_TRUE(At(kB).order.empty());
}

TEST_P(NetworkContract, DisconnectIsSilentHereAndSeenThere) {
  Join(kA, kB);
  At(kA).Disconnect(kB);
  ASSERT_TRUE(Await([&] { return !At(kB).downs.empty(); }));
  EXPECT_EQ(At(kB).downs.front().why.code(), Code::kUnavailable);
  At(kA).Disconnect(kB);  // There is no link: nothing happens.
  Pass(milliseconds(300));
  EXPECT_EQ(At(kA).order, std::vector<std::string>{"up"});
  EXPECT_EQ(At(kB).downs.size(), 1U);
}

TEST_P(NetworkContract, LinksComeBackAsOftenAsTheyAreMade) {
  for (int round = 0; round < 10; ++round) {
    Join(round % 2 == 0 ? kA : kB, round % 2 == 0 ? kB : kA);
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, PatternFrame(1, 100)).ok());
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kBulk, PatternFrame(2, 100)).ok());
    ASSERT_TRUE(Await([&] { return At(kB).received.size() == 2; }));
    At(kB).received.clear();
    At(kA).Disconnect(kB);
    const auto downs = static_cast<std::size_t>(round) + 1;
    ASSERT_TRUE(Await([&] { return At(kB).downs.size() == downs; }));
  }
}

TEST_P(NetworkContract, TwoThatDialEachOtherGetOneLink) {
  At(kA);
  At(kB);
  for (std::size_t round = 1; round <= 20; ++round) {
    At(kA).Connect(kB, world_->AddressOf(kA, kB));
    // From the same instant to well apart.
    Pass(Duration(std::chrono::microseconds((round - 1) * 150)));
    At(kB).Connect(kA, world_->AddressOf(kB, kA));
    ASSERT_TRUE(Await([&] { return At(kA).ups.size() == round && At(kB).ups.size() == round; }));
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(1)).ok());
    ASSERT_TRUE(At(kB).Send(kA, Traffic::kBulk, Frame(1)).ok());
    ASSERT_TRUE(
        Await([&] { return At(kA).received.size() == round && At(kB).received.size() == round; }));
    EXPECT_EQ(At(kA).downs.size(), 0U);
    EXPECT_EQ(At(kB).downs.size(), round - 1);
    At(kA).Disconnect(kB);
    ASSERT_TRUE(Await([&] { return At(kB).downs.size() == round; }));
  }
}

TEST_P(NetworkContract, AShortPauseOfAPeerLosesNothing) {
  Join(kA, kB);
  world_->Freeze(kB);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kBulk, PatternFrame(i, 100'000)).ok());
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kActivations, PatternFrame(i, 500'000)).ok());
  }
  Pass(milliseconds(700));
  world_->Thaw(kB);
  ASSERT_TRUE(Await([&] { return At(kB).received.size() == 16; }));
  EXPECT_TRUE(At(kA).downs.empty());
  EXPECT_TRUE(At(kB).downs.empty());
}

TEST_P(NetworkContract, ALinkMayBeEndedInsideItsOwnEvent) {
  Join(kA, kB);
  At(kB).on_frame = [&] { At(kB).Disconnect(kA); };
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(10)).ok());
  }
  ASSERT_TRUE(Await([&] { return !At(kA).downs.empty(); }));
  EXPECT_EQ(At(kB).received.size(), 1U);  // Nothing comes after Disconnect.
}

TEST_P(NetworkContract, ANodeAnswersInsideItsOwnEvent) {
  Join(kA, kB);
  At(kB).on_frame = [&] { EXPECT_TRUE(At(kB).Send(kA, Traffic::kControl, Frame(2)).ok()); };
  ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(1)).ok());
  ASSERT_TRUE(Await([&] { return At(kA).received.size() == 1; }));
}

TEST_P(NetworkContract, EventsAreDroppedWhenNobodyListens) {
  Join(kA, kB);
  world_->node(kB).Attach(nullptr);
  ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(1)).ok());
  Pass(milliseconds(300));
  EXPECT_TRUE(At(kB).received.empty());
  world_->node(kB).Attach(&At(kB));
  ASSERT_TRUE(At(kA).Send(kB, Traffic::kControl, Frame(2)).ok());
  ASSERT_TRUE(Await([&] { return !At(kB).received.empty(); }));
  EXPECT_EQ(At(kB).received.front().frame.size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Over, NetworkContract, AllNetworksUnderTest(), NetworkName);

}  // namespace
}  // namespace shoal
