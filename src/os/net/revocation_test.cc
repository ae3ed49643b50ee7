// Members that are members no more, certificates out of date, one identity on two devices.
#include <gtest/gtest.h>

#include "os/net/network_test_util.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoon = seconds(30);

class RevocationTest : public testing::Test {
 protected:
  struct Member {
    std::shared_ptr<const TlsIdentity> identity;
    std::uint64_t serial = 0;
  };
  Member MakeMember(NodeId id) {
    const std::string key = *MakePrivateKey();
    const NodeCertificate issued = *IssueCertificate(authority_, id, *PublicKeyOf(key));
    return {*TlsIdentity::Make(authority_.certificate_pem, issued.certificate_pem, key),
            issued.serial};
  }
  TcpNetwork::Options With(std::shared_ptr<const TlsIdentity> identity) {
    TcpNetwork::Options options;
    options.tls = std::move(identity);
    options.log = [this](const std::string& line) { log_.push_back(line); };
    return options;
  }
  bool Await(const std::function<bool()>& done) { return loop_.RunUntil(done, kSoon); }
  Status WhyDown(TestNode& from, const TestNode& to, NodeId id) {
    from.network.Connect(id, to.address);
    EXPECT_TRUE(Await([&] { return !from.log.downs.empty() || !from.log.ups.empty(); }));
    return from.log.downs.empty() ? Status() : from.log.downs.front().second;
  }

  Loop loop_;
  Authority authority_ = *MakeAuthority("attic");
  Member one_ = MakeMember(NodeId{1});
  Member two_ = MakeMember(NodeId{2});
  std::vector<std::string> log_;
};

TEST_F(RevocationTest, AnEvictedNodeIsRefusedAndToldWhy) {
  TestNode head(loop_, NodeId{1}, With(one_.identity));
  head.network.SetRevoked({two_.serial});
  TestNode node(loop_, NodeId{2}, With(two_.identity));
  const Status why = WhyDown(node, head, NodeId{1});
  EXPECT_EQ(why.code(), Code::kInvalidArgument);
  EXPECT_EQ(why.message(),
            "refused by the peer: this node was evicted from the cluster; to come back, delete its "
            "directory and join with a new token");
  EXPECT_TRUE(head.log.empty());
  EXPECT_EQ(log_,
            std::vector<std::string>{
                "cluster port: refused 127.0.0.1: node 2: this node was evicted from the cluster"});
  // A new certificate of the same node is another one.
  TestNode again(loop_, NodeId{2}, With(MakeMember(NodeId{2}).identity));
  EXPECT_TRUE(WhyDown(again, head, NodeId{1}).ok());
}

TEST_F(RevocationTest, AnEvictedNodeIsNotDialledEither) {
  TestNode evicted(loop_, NodeId{1}, With(one_.identity));
  TestNode node(loop_, NodeId{2}, With(two_.identity));
  node.network.SetRevoked({one_.serial});
  const Status why = WhyDown(node, evicted, NodeId{1});
  EXPECT_EQ(why.code(), Code::kInvalidArgument);
  EXPECT_EQ(why.message(), "the certificate of node 1 was revoked");
  EXPECT_TRUE(evicted.log.ups.empty());
}

TEST_F(RevocationTest, ALinkThatIsUpEnds) {
  TestNode head(loop_, NodeId{1}, With(one_.identity));
  TestNode node(loop_, NodeId{2}, With(two_.identity));
  TestNode other(loop_, NodeId{3}, With(MakeMember(NodeId{3}).identity));
  node.network.Connect(NodeId{1}, head.address);
  other.network.Connect(NodeId{1}, head.address);
  ASSERT_TRUE(Await(
      [&] { return head.log.ups.size() == 2 && !node.log.ups.empty() && !other.log.ups.empty(); }));
  head.network.SetRevoked({two_.serial});
  EXPECT_TRUE(head.log.downs.empty());  // Never from inside a call.
  ASSERT_TRUE(Await([&] { return !head.log.downs.empty() && !node.log.downs.empty(); }));
  EXPECT_EQ(head.log.downs[0].first, NodeId{2});
  EXPECT_EQ(head.log.downs[0].second.code(), Code::kInvalidArgument);
  EXPECT_EQ(head.log.downs[0].second.message(), "the certificate of node 2 was revoked");
  EXPECT_EQ(head.log.downs.size(), 1U);
  EXPECT_TRUE(other.log.downs.empty());
}

TEST_F(RevocationTest, RevokingTwiceEndsALinkOnce) {
  TestNode head(loop_, NodeId{1}, With(one_.identity));
  TestNode node(loop_, NodeId{2}, With(two_.identity));
  ASSERT_TRUE(WhyDown(node, head, NodeId{1}).ok());
  ASSERT_TRUE(Await([&] { return !head.log.ups.empty(); }));
  head.network.SetRevoked({two_.serial});
  head.network.SetRevoked({two_.serial, 12});
  EXPECT_EQ(head.network.Send(NodeId{2}, Traffic::kControl, Frame(5)).code(), Code::kOk);
  ASSERT_TRUE(Await([&] { return !head.log.downs.empty(); }));
  loop_.RunUntil([] { return false; }, milliseconds(50));
  EXPECT_EQ(head.log.downs.size(), 1U);
}

TEST_F(RevocationTest, TheHeadJudgesDates) {
  const std::string key = *MakePrivateKey();
  const NodeCertificate fresh = *IssueCertificate(authority_, NodeId{2}, *PublicKeyOf(key));
  const std::string stale_pem =
      WithDates(fresh.certificate_pem, authority_.key_pem, "20010101000000Z", "20011231000000Z");
  TcpNetwork::Options options = With(one_.identity);
  options.judge_dates = true;
  TestNode head(loop_, NodeId{1}, options);
  TestNode node(loop_, NodeId{2},
                With(*TlsIdentity::Make(authority_.certificate_pem, stale_pem, key)));
  const Status why = WhyDown(node, head, NodeId{1});
  EXPECT_EQ(why.code(), Code::kInvalidArgument) << why.ToString();
  EXPECT_NE(why.message().find("certificate expired"), std::string::npos) << why.ToString();
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("certificate has expired"), std::string::npos) << log_[0];
  TestNode member(loop_, NodeId{2}, With(two_.identity));
  EXPECT_TRUE(WhyDown(member, head, NodeId{1}).ok());
}

TEST_F(RevocationTest, PlainTextIsRefusedAndLoggedOnce) {
  TestNode head(loop_, NodeId{1}, With(one_.identity));
  const std::string request = "GET / HTTP/1.1\r\nHost: head\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    RawPeer peer(loop_, head.address);
    peer.Say(ToBytes(std::as_bytes(std::span(request))));
    EXPECT_TRUE(Await([&] { return peer.closed(); }));
  }
  EXPECT_EQ(log_, std::vector<std::string>{"cluster port: refused 127.0.0.1: TLS: http request"});
}

TEST_F(RevocationTest, SlowPeersAreLoggedOnce) {
  TcpNetwork::Options options = With(one_.identity);
  options.handshake_max = milliseconds(200);
  TestNode head(loop_, NodeId{1}, options);
  RawPeer first(loop_, head.address);
  RawPeer second(loop_, head.address);
  EXPECT_TRUE(Await([&] { return first.closed() && second.closed(); }));
  EXPECT_EQ(log_,
            std::vector<std::string>{"cluster port: refused 127.0.0.1: did not say hello in time"});
}

// Dials again whenever it is thrown out, as agents do.
struct Redialler final : NetworkEvents {
  Redialler(Loop& loop, TcpNetwork::Options options, std::string address)
      : network(loop, NodeId{2}, std::move(options)), head(std::move(address)) {
    network.Attach(this);
    network.Connect(NodeId{1}, head);
  }
  void OnPeerUp(NodeId /*peer*/) override {}
  void OnPeerDown(NodeId peer, const Status& /*why*/) override { network.Connect(peer, head); }
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override {}
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}
  TcpNetwork network;
  std::string head;
};

TEST_F(RevocationTest, OneIdentityOnTwoDevicesIsNoticed) {
  TestNode head(loop_, NodeId{1}, With(one_.identity));
  TcpNetwork::Options options;
  options.tls = two_.identity;
  Redialler original(loop_, options, head.address);
  Redialler copy(loop_, options, head.address);
  ASSERT_TRUE(Await([&] { return head.log.downs.size() >= 8; }));
  EXPECT_EQ(head.log.downs[0].second.message(), "replaced by a newer link of the same node");
  EXPECT_EQ(head.log.downs[4].second.message(), "replaced by a newer link of the same node");
  for (const auto& [peer, why] : head.log.downs) EXPECT_EQ(why.code(), Code::kCancelled);
  EXPECT_EQ(head.log.downs[5].second.message(),
            "replaced by a newer link of the same node, again and again: two devices use the "
            "identity of node 2; on one of them, delete its directory and join anew");
  EXPECT_EQ(log_.size(), 1U);
  original.network.Attach(nullptr);
  copy.network.Attach(nullptr);
}

}  // namespace
}  // namespace shoal::os
