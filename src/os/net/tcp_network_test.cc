// TcpNetwork against peers that no correct program would be. What correct peers get
// is in tests/contract/.
#include "os/net/tcp_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "os/net/network_test_util.h"
#include "wire/frame.h"
#include "wire/little_endian.h"
#include "wire/send_queue.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Role;

constexpr Duration kSoon = seconds(30);
constexpr NodeId kSelf{1};
constexpr NodeId kStranger{9};

TcpNetwork::Options Impatient() {
  TcpNetwork::Options options;
  options.handshake_max = seconds(1);
  return options;
}

Bytes HelloBytesOf(Role role, NodeId to = kSelf, std::uint64_t session = 5) {
  return ToBytes(
      wire::EncodeHello({.role = role, .from = kStranger, .to = to, .session = session}));
}

class TcpNetworkTest : public testing::Test {
 protected:
  bool Await(const std::function<bool()>& done) { return loop_.RunUntil(done, kSoon); }

  std::unique_ptr<RawPeer> Dial(const TestNode& node) {
    return std::make_unique<RawPeer>(loop_, node.address);
  }

  // Makes kStranger a peer of `node`, by hand.
  void JoinByHand(TestNode& node) {
    main_ = Dial(node);
    main_->Say(HelloBytesOf(Role::kMain));
    ASSERT_TRUE(Await([&] { return main_->heard().size() == wire::kHelloBytes; }));
    bulk_ = Dial(node);
    bulk_->Say(HelloBytesOf(Role::kBulk));
    ASSERT_TRUE(Await([&] { return bulk_->heard().size() == wire::kHelloBytes; }));
    ASSERT_EQ(node.log.ups, std::vector{kStranger});
  }

  // What `node` says of a peer that, once up, sends `bytes` on its main connection.
  Status WhyDownAfter(const Bytes& bytes) {
    TestNode node(loop_, kSelf, {});
    JoinByHand(node);
    main_->Say(bytes);
    EXPECT_TRUE(Await([&] { return !node.log.downs.empty(); }));
    EXPECT_TRUE(Await([&] { return main_->closed() && bulk_->closed(); }));
    EXPECT_TRUE(node.log.frames.empty());
    return node.log.downs.empty() ? Status() : node.log.downs.front().second;
  }

  // What a dialler gets from a server that says `answer`.
  Status WhyDownFrom(const Bytes& answer) {
    TcpNetwork dialler(loop_, kSelf, Impatient());
    EventLog log;
    dialler.Attach(&log);
    RawServer server(loop_);
    RawPeer peer(loop_);
    peer.AcceptFrom(server.acceptor);
    dialler.Connect(kStranger, server.address);
    EXPECT_TRUE(Await([&] { return peer.heard().size() == wire::kHelloBytes; }));
    peer.Say(answer);
    EXPECT_TRUE(Await([&] { return !log.downs.empty(); }));
    EXPECT_TRUE(log.ups.empty());
    return log.downs.empty() ? Status() : log.downs.front().second;
  }

  Loop loop_;
  std::unique_ptr<RawPeer> main_;
  std::unique_ptr<RawPeer> bulk_;
};

Bytes RawHeader(std::uint64_t kind, std::uint64_t frame_bytes, std::uint64_t slice_bytes) {
  Bytes bytes(wire::kSliceHeaderBytes);
  const std::span<std::byte> out(bytes);
  bytes[0] = std::byte{0xa7};
  wire::StoreLittleEndian(kind, out.subspan(1, 1));
  wire::StoreLittleEndian(frame_bytes, out.subspan(4, 4));
  wire::StoreLittleEndian(slice_bytes, out.subspan(12, 4));
  return bytes;
}

TEST_F(TcpNetworkTest, HangsUpOnGarbage) {
  TestNode node(loop_, kSelf, {});
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    auto peer = Dial(node);
    Bytes garbage(static_cast<std::size_t>(random.Between(32, 3000)));
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random.Below(256));
    peer->Say(garbage);
    EXPECT_TRUE(Await([&] { return peer->closed(); }));
    EXPECT_TRUE(peer->heard().empty());
  }
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, HangsUpOnHalfAHello) {
  TestNode node(loop_, kSelf, Impatient());
  auto peer = Dial(node);
  Bytes half = HelloBytesOf(Role::kMain);
  half.resize(20);
  peer->Say(half);
  EXPECT_TRUE(Await([&] { return peer->closed(); }));
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, HangsUpOnAHelloThatDrips) {
  TestNode node(loop_, kSelf, Impatient());
  auto peer = Dial(node);
  const Bytes hello = HelloBytesOf(Role::kMain);
  // Each byte is progress; all of them would take 31 x 100 ms.
  for (std::size_t i = 0; i < hello.size() && !peer->closed(); ++i) {
    peer->Say({hello[i]});
    loop_.RunUntil([&] { return peer->closed(); }, milliseconds(100));
  }
  EXPECT_TRUE(peer->closed());
  EXPECT_TRUE(peer->heard().empty());
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, HangsUpOnAMainConnectionWithoutItsBulkConnection) {
  TestNode node(loop_, kSelf, Impatient());
  auto peer = Dial(node);
  peer->Say(HelloBytesOf(Role::kMain));
  EXPECT_TRUE(Await([&] { return peer->closed(); }));
  EXPECT_EQ(peer->heard().size(), wire::kHelloBytes);
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, RefusesHellosAndSaysWhy) {
  TestNode node(loop_, kSelf, {});
  const auto verdict_on = [&](const Bytes& hello) {
    auto peer = Dial(node);
    peer->Say(hello);
    EXPECT_TRUE(Await([&] { return peer->closed(); }));
    EXPECT_EQ(peer->heard().size(), wire::kHelloBytes);
    return static_cast<wire::Verdict>(peer->heard().at(7));
  };
  EXPECT_EQ(verdict_on(HelloBytesOf(Role::kMain, NodeId{2})), wire::Verdict::kWrongNode);
  EXPECT_EQ(verdict_on(HelloBytesOf(Role::kBulk)), wire::Verdict::kUnknownSession);
  Bytes future = HelloBytesOf(Role::kMain);
  future[4] = std::byte{2};
  EXPECT_EQ(verdict_on(future), wire::Verdict::kWrongVersion);
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, ABulkConnectionOfAnotherSessionIsRefused) {
  TestNode node(loop_, kSelf, {});
  auto main = Dial(node);
  main->Say(HelloBytesOf(Role::kMain, kSelf, 5));
  ASSERT_TRUE(Await([&] { return main->heard().size() == wire::kHelloBytes; }));
  auto bulk = Dial(node);
  bulk->Say(HelloBytesOf(Role::kBulk, kSelf, 6));
  EXPECT_TRUE(Await([&] { return bulk->closed(); }));
  EXPECT_TRUE(node.log.empty());
}

TEST_F(TcpNetworkTest, AFrameAboveTheLimitEndsTheLink) {
  const Status why = WhyDownAfter(RawHeader(0, kControlFrameBytesMax + 1, 1));
  EXPECT_EQ(why.code(), Code::kCorruption);
  EXPECT_EQ(why.message(),
            "slice header: frame_bytes of a control frame is 262145, the limit is 262144");
}

TEST_F(TcpNetworkTest, AMemberThatSendsWhatNobodySendsIsLoggedOnce) {
  std::vector<std::string> log;
  TcpNetwork::Options options;
  options.log = [&](const std::string& line) { log.push_back(line); };
  TestNode node(loop_, kSelf, options);
  for (std::size_t i = 1; i <= 2; ++i) {
    node.log.ups.clear();
    JoinByHand(node);
    main_->Say(Bytes(100));
    ASSERT_TRUE(Await([&] { return node.log.downs.size() == i; }));
  }
  EXPECT_EQ(log, std::vector<std::string>{
                     "cluster port: refused node " + std::to_string(ToNumber(kStranger)) +
                     ": slice header: mark is wrong, sender and receiver lost step"});
}

TEST_F(TcpNetworkTest, WhatIsNoFrameEndsTheLink) {
  EXPECT_EQ(WhyDownAfter(Bytes(100)).code(), Code::kCorruption);
  // Bulk on the main connection.
  EXPECT_EQ(WhyDownAfter(RawHeader(2, 10, 10)).code(), Code::kCorruption);
}

TEST_F(TcpNetworkTest, AnAcknowledgementOfWhatWasNotSentEndsTheLink) {
  Bytes ack;
  wire::AppendFrame(wire::Kind::kBulkAck, wire::EncodeBulkAck(1), ack);
  const Status why = WhyDownAfter(ack);
  EXPECT_EQ(why.code(), Code::kCorruption);
  EXPECT_NE(why.message().find("bulk ack"), std::string::npos);
}

TEST_F(TcpNetworkTest, AFrameCutShortIsNotDelivered) {
  TestNode node(loop_, kSelf, {});
  JoinByHand(node);
  Bytes bytes = RawHeader(0, 100, 100);
  bytes.resize(bytes.size() + 99);
  main_->Say(bytes);
  main_->HangUp();
  ASSERT_TRUE(Await([&] { return !node.log.downs.empty(); }));
  EXPECT_EQ(node.log.downs.front().second.code(), Code::kUnavailable);
  EXPECT_TRUE(node.log.frames.empty());
}

TEST_F(TcpNetworkTest, DiallingReportsWhatTheServerIs) {
  EXPECT_EQ(WhyDownFrom({}).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(WhyDownFrom(Bytes(wire::kHelloBytes)).code(), Code::kCorruption);
  Bytes http(100);
  const std::string text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  std::transform(text.begin(), text.end(), http.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  EXPECT_EQ(WhyDownFrom(http).code(), Code::kCorruption);
  Bytes future = HelloBytesOf(Role::kMain);
  future[4] = std::byte{2};
  const Status version = WhyDownFrom(future);
  EXPECT_EQ(version.code(), Code::kInvalidArgument);
  EXPECT_EQ(version.message(), "hello: peer speaks protocol version 2, this node speaks 1");
  const Status other = WhyDownFrom(ToBytes(
      wire::EncodeHello({.role = Role::kMain, .from = NodeId{8}, .to = kSelf, .session = 5})));
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_EQ(other.message(), "dialled node 9, but node 8 answered");
}

TEST_F(TcpNetworkTest, AServerThatHangsUpIsUnavailable) {
  TcpNetwork dialler(loop_, kSelf, {});
  EventLog log;
  dialler.Attach(&log);
  std::optional<RawServer> server(std::in_place, loop_);
  RawPeer peer(loop_);
  peer.AcceptFrom(server->acceptor);
  dialler.Connect(kStranger, server->address);
  ASSERT_TRUE(Await([&] { return !peer.heard().empty(); }));
  peer.HangUp();
  ASSERT_TRUE(Await([&] { return log.downs.size() == 1; }));
  EXPECT_EQ(log.downs.back().second.code(), Code::kUnavailable);

  const std::string address = server->address;
  server.reset();  // Nobody listens there any more.
  dialler.Connect(kStranger, address);
  ASSERT_TRUE(Await([&] { return log.downs.size() == 2; }));
  EXPECT_EQ(log.downs.back().second.code(), Code::kUnavailable);
  EXPECT_EQ(log.downs.back().second.message(), "connect: Connection refused");
}

TEST_F(TcpNetworkTest, TooManyStrangersAreTurnedAwayAndMakeRoomInTime) {
  TcpNetwork::Options options = Impatient();
  options.handshakes_max = 4;
  TestNode node(loop_, kSelf, options);
  std::vector<std::unique_ptr<RawPeer>> strangers;
  for (int i = 0; i < 10; ++i) strangers.push_back(Dial(node));
  const auto turned_away = [&] {
    return std::count_if(strangers.begin(), strangers.end(),
                         [](const auto& peer) { return peer->closed(); });
  };
  ASSERT_TRUE(Await([&] { return turned_away() >= 6; }));
  ASSERT_TRUE(Await([&] { return turned_away() == 10; }));
  JoinByHand(node);
}

TEST_F(TcpNetworkTest, MorePeersThanAllowedAreTurnedAway) {
  TcpNetwork::Options options;
  options.peers_max = 1;
  TestNode node(loop_, kSelf, options);
  JoinByHand(node);
  TcpNetwork second(loop_, NodeId{2}, {});
  EventLog log;
  second.Attach(&log);
  second.Connect(kSelf, node.address);
  ASSERT_TRUE(Await([&] { return !log.downs.empty(); }));
  EXPECT_EQ(log.downs.front().second.code(), Code::kUnavailable);
  EXPECT_EQ(log.downs.front().second.message(), "refused by the peer: too many peers");
  EXPECT_EQ(node.log.ups.size(), 1U);
}

TEST_F(TcpNetworkTest, APortInUseIsNamed) {
  TestNode node(loop_, kSelf, {});
  TcpNetwork other(loop_, NodeId{2}, {});
  const Result<std::string> bound = other.Listen(node.address);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), Code::kUnavailable);
  EXPECT_EQ(bound.status().message(), "listen on " + node.address + ": Address already in use");
  EXPECT_EQ(other.Listen("nowhere").status().code(), Code::kInvalidArgument);
}

TEST_F(TcpNetworkTest, WorksOverIpv6) {
  TcpNetwork a(loop_, NodeId{1}, {});
  const Result<std::string> address = a.Listen("[::1]:0");
  if (!address.ok()) GTEST_SKIP() << "no IPv6 here: " << address.status().ToString();
  TcpNetwork b(loop_, NodeId{2}, {});
  EventLog log;
  b.Attach(&log);
  b.Connect(NodeId{1}, *address);
  EXPECT_TRUE(Await([&] { return log.ups.size() == 1; }));
}

TEST_F(TcpNetworkTest, ANodeDoesNotConnectToItself) {
  TestNode node(loop_, kSelf, {});
  node.network.Connect(kSelf, node.address);
  ASSERT_TRUE(Await([&] { return !node.log.downs.empty(); }));
  EXPECT_EQ(node.log.downs.front().second.code(), Code::kInvalidArgument);
}

TEST_F(TcpNetworkTest, CanBeDestroyedInEveryState) {
  for (int events = 0; events < 30; ++events) {
    TestNode a(loop_, NodeId{1}, {});
    TestNode b(loop_, NodeId{2}, {});
    a.network.Connect(NodeId{2}, b.address);
    if (events % 3 == 0) b.network.Connect(NodeId{1}, a.address);
    for (int i = 0; i < events; ++i) loop_.RunOne(milliseconds(1));
    for (int i = 0; i < 3; ++i) {
      const Status ignored = a.network.Send(NodeId{2}, Traffic::kBulk, Frame(200'000));
      if (!ignored.ok()) break;
    }
  }
  loop_.RunUntil([] { return false; }, milliseconds(20));  // What is left over is harmless.
}

}  // namespace
}  // namespace shoal::os
