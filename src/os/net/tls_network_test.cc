// Who gets in over TLS, and who does not.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <csignal>
#include <optional>
#include <thread>

#include "os/net/connection_internal.h"
#include "os/net/network_test_util.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kSoon = seconds(30);

TcpNetwork::Options With(std::shared_ptr<const TlsIdentity> identity) {
  TcpNetwork::Options options;
  options.tls = std::move(identity);
  return options;
}

class TlsNetworkTest : public testing::Test {
 protected:
  bool Await(const std::function<bool()>& done) { return loop_.RunUntil(done, kSoon); }

  std::shared_ptr<const TlsIdentity> Identity(NodeId id) {
    return MakeTestIdentity(authority_, id);
  }

  // How node `from` fares when it dials `server` as node `to`.
  Status WhyDown(NodeId from, TcpNetwork::Options options, const TestNode& server, NodeId to) {
    TcpNetwork dialler(loop_, from, std::move(options));
    EventLog log;
    dialler.Attach(&log);
    dialler.Connect(to, server.address);
    EXPECT_TRUE(Await([&] { return !log.downs.empty() || !log.ups.empty(); }));
    return log.downs.empty() ? Status() : log.downs.front().second;
  }

  Loop loop_;
  Authority authority_ = *MakeAuthority("attic");
};

TEST_F(TlsNetworkTest, MembersOfOneClusterConnect) {
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  EXPECT_TRUE(WhyDown(NodeId{2}, With(Identity(NodeId{2})), server, NodeId{1}).ok());
  EXPECT_EQ(server.log.ups, std::vector{NodeId{2}});
}

TEST_F(TlsNetworkTest, AnotherClustersNodeIsRefused) {
  const Authority cellar = *MakeAuthority("attic");  // The same name proves nothing.
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  const Status why =
      WhyDown(NodeId{2}, With(MakeTestIdentity(cellar, NodeId{2})), server, NodeId{1});
  EXPECT_EQ(why.code(), Code::kInvalidArgument) << why.ToString();
  EXPECT_TRUE(server.log.empty());
}

TEST_F(TlsNetworkTest, AnotherNodesCertificateIsRefusedByTheDialler) {
  TestNode server(loop_, NodeId{3}, With(Identity(NodeId{3})));
  const Status why = WhyDown(NodeId{2}, With(Identity(NodeId{2})), server, NodeId{1});
  EXPECT_EQ(why.code(), Code::kInvalidArgument);
  EXPECT_EQ(why.message(), "dialled node 1, but the certificate there is of node 3");
  EXPECT_TRUE(server.log.empty());
}

// A member that says hello in another member's name.
struct Impostor final : ConnectionOwner {
  void OnSecured(Connection& connection) override {
    connection.SendHello(
        {.role = wire::Role::kMain, .from = NodeId{2}, .to = NodeId{1}, .session = 1});
  }
  void OnHello(Connection& /*connection*/, const wire::Hello& hello) override { answer = hello; }
  void OnFrame(Connection& /*c*/, wire::Kind /*kind*/, Frame /*frame*/) override {}
  void OnReadEnd(Connection& /*connection*/) override {}
  void FillBatch(Connection& /*connection*/, std::vector<std::byte>& /*batch*/) override {}
  void OnFailed(Connection& /*connection*/, const Status& why) override { failure = why; }
  std::optional<wire::Hello> answer;
  Status failure;
};

TEST_F(TlsNetworkTest, AMemberCannotReplaceAnother) {
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  TestNode victim(loop_, NodeId{2}, With(Identity(NodeId{2})));
  victim.network.Connect(NodeId{1}, server.address);
  ASSERT_TRUE(Await([&] { return server.log.ups.size() == 1 && victim.log.ups.size() == 1; }));

  const auto identity = Identity(NodeId{9});
  ConnectionConfig config{.loop = loop_,
                          .tls = identity.get(),
                          .ping_interval = seconds(1),
                          .silence_max = seconds(10),
                          .read_buffer = Bytes(1024)};
  Impostor impostor;
  const auto connection = Connection::Dial(config, *ParseEndpoint(server.address), impostor);
  ASSERT_TRUE(Await([&] { return impostor.answer.has_value() || !impostor.failure.ok(); }));
  ASSERT_TRUE(impostor.answer.has_value()) << impostor.failure.ToString();
  EXPECT_EQ(impostor.answer->verdict, wire::Verdict::kWrongNode);
  connection->Close();
  loop_.RunUntil([] { return false; }, milliseconds(200));
  EXPECT_TRUE(server.log.downs.empty());
  EXPECT_TRUE(victim.log.downs.empty());
}

TEST_F(TlsNetworkTest, PlainAndEncryptedNodesDoNotMix) {
  TestNode encrypted(loop_, NodeId{1}, With(Identity(NodeId{1})));
  const Status plain_dialler = WhyDown(NodeId{2}, {}, encrypted, NodeId{1});
  // It reads an alert, which is too short to be a hello, and then the end.
  EXPECT_EQ(plain_dialler.code(), Code::kUnavailable) << plain_dialler.ToString();
  EXPECT_TRUE(encrypted.log.empty());

  TestNode plain(loop_, NodeId{3}, {});
  const Status tls_dialler = WhyDown(NodeId{2}, With(Identity(NodeId{2})), plain, NodeId{3});
  // The other side sees a client hello, which is no hello of ours, and hangs up.
  EXPECT_EQ(tls_dialler.code(), Code::kUnavailable) << tls_dialler.ToString();
  EXPECT_TRUE(plain.log.empty());
}

TEST_F(TlsNetworkTest, GarbageAfterTheFirstBytesIsHungUpOn) {
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  RawPeer peer(loop_, server.address);
  peer.Say(Bytes(2000, std::byte{0x16}));
  EXPECT_TRUE(Await([&] { return peer.closed(); }));
  EXPECT_TRUE(server.log.empty());
}

TEST_F(TlsNetworkTest, AHandshakeThatStopsIsHungUpOn) {
  TcpNetwork::Options options = With(Identity(NodeId{1}));
  options.handshake_max = milliseconds(300);
  TestNode server(loop_, NodeId{1}, options);
  RawPeer peer(loop_, server.address);
  // A record header that promises a client hello which never comes.
  peer.Say({std::byte{0x16}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}});
  EXPECT_TRUE(Await([&] { return peer.closed(); }));
  EXPECT_TRUE(server.log.empty());
}

// Whether an OpenSSL client with these settings gets an answer to its hello. Blocks, so
// it runs beside the loop.
bool ClientIsWelcome(const std::string& address, int version_max) {
  std::signal(SIGPIPE, SIG_IGN);  // This client writes to the socket itself.
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_max_proto_version(context.get(), version_max);
  const BioPtr bio(BIO_new_ssl_connect(context.get()));
  BIO_set_conn_hostname(bio.get(), address.c_str());
  if (BIO_do_handshake(bio.get()) != 1) return false;
  const wire::HelloBytes hello = wire::EncodeHello(
      {.role = wire::Role::kMain, .from = NodeId{2}, .to = NodeId{1}, .session = 1});
  BIO_write(bio.get(), hello.data(), static_cast<int>(hello.size()));
  wire::HelloBytes answer{};
  return BIO_read(bio.get(), answer.data(), static_cast<int>(answer.size())) > 0;
}

class TlsClientTest : public TlsNetworkTest, public testing::WithParamInterface<int> {};

TEST_P(TlsClientTest, WithoutACertificateIsRefused) {
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  bool welcome = true;
  std::thread client([&] {
    welcome = ClientIsWelcome(server.address, GetParam());
    loop_.Stop();
  });
  loop_.Run();
  client.join();
  EXPECT_FALSE(welcome);
  EXPECT_TRUE(server.log.empty());
}

INSTANTIATE_TEST_SUITE_P(Version, TlsClientTest, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& test) {
                           return test.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

TEST_F(TlsNetworkTest, PhonesDoNotJudgeDates) {
  const std::string key = *MakePrivateKey();
  const NodeCertificate fresh = *IssueCertificate(authority_, NodeId{2}, *PublicKeyOf(key));
  const std::string stale_pem =
      WithDates(fresh.certificate_pem, authority_.key_pem, "20010101000000Z", "20011231000000Z");
  const auto stale = TlsIdentity::Make(authority_.certificate_pem, stale_pem, key);
  ASSERT_TRUE(stale.ok()) << stale.status().ToString();
  TestNode server(loop_, NodeId{1}, With(Identity(NodeId{1})));
  EXPECT_TRUE(WhyDown(NodeId{2}, With(*stale), server, NodeId{1}).ok());
}

}  // namespace
}  // namespace shoal::os
