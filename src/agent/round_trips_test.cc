#include "agent/round_trips.h"

#include <gtest/gtest.h>

namespace shoal::agent {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kPeer{2};

TEST(RoundTripsTest, TheFirstCountsAndAHiccupDoesNot) {
  RoundTrips trips;
  EXPECT_TRUE(trips.Usual().empty());
  trips.Add(kPeer, milliseconds(3));
  EXPECT_EQ(trips.Usual().at(kPeer), milliseconds(3));
  for (int i = 0; i < 20; ++i) {
    trips.Add(kPeer, milliseconds(i % 3 == 0 ? 500 : 4));
    EXPECT_EQ(trips.Usual().at(kPeer), milliseconds(3)) << i;
  }
}

TEST(RoundTripsTest, AHiccupAtFirstIsForgottenSoon) {
  RoundTrips trips;
  trips.Add(kPeer, milliseconds(200));
  trips.Add(kPeer, milliseconds(3));
  EXPECT_EQ(trips.Usual().at(kPeer), milliseconds(3));
}

TEST(RoundTripsTest, LessThanAMillisecondIsNothing) {
  RoundTrips trips;
  trips.Add(kPeer, std::chrono::microseconds(100));
  for (int i = 0; i < 10; ++i) trips.Add(kPeer, std::chrono::microseconds(900));
  EXPECT_EQ(trips.Usual().at(kPeer), std::chrono::microseconds(100));
}

TEST(RoundTripsTest, ALinkThatBecomesSlowIsSlowSoon) {
  RoundTrips trips;
  for (int i = 0; i < 100; ++i) trips.Add(kPeer, milliseconds(2));
  for (int i = 0; i < 4; ++i) trips.Add(kPeer, milliseconds(50));
  EXPECT_EQ(trips.Usual().at(kPeer), milliseconds(50));
}

TEST(RoundTripsTest, EachPeerHasItsOwnAndCanBeForgotten) {
  RoundTrips trips;
  trips.Add(kPeer, milliseconds(2));
  trips.Add(NodeId{3}, milliseconds(9));
  trips.Forget(kPeer);
  EXPECT_EQ(trips.Usual(), (std::map<NodeId, Duration>{{NodeId{3}, milliseconds(9)}}));
}

}  // namespace
}  // namespace shoal::agent
