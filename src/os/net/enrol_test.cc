// How devices become members, and how others do not.
#include "wire/enrol.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <thread>

#include "os/cluster/cluster_testing.h"
#include "os/file.h"
#include "os/net/door_internal.h"
#include "os/net/enrol_client.h"
#include "os/net/enrol_guest_internal.h"
#include "os/net/enrol_server.h"
#include "os/net/http_connection_internal.h"
#include "os/net/network_test_util.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::EnrolVerdict;

constexpr Duration kSoon = seconds(30);
constexpr UnixTime kNow = 1'700'000'000;
constexpr UnixTime kHour = 3600;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class EnrolTest : public testing::Test {
 protected:
  EnrolTest() {
    EXPECT_TRUE(HeadDirectory::Create(Home(), "attic", kNow).ok());
    head_.emplace(*HeadDirectory::Open(Home()));
  }
  // Whatever a test does, no secret gets into the log.
  void TearDown() override {
    for (const std::string& line : log_) {
      EXPECT_TRUE(wire::IsPlainText(line)) << line;
      for (const wire::JoinToken& token : tokens_) {
        EXPECT_EQ(line.find(AsText(token.secret).substr(0, 4)), std::string::npos) << line;
        EXPECT_EQ(line.find(wire::EncodeJoinToken(token).substr(40, 8)), std::string::npos) << line;
      }
      EXPECT_EQ(line.find("PRIVATE KEY"), std::string::npos) << line;
    }
  }

  std::string Home() const { return scratch_.path + "/head"; }

  void Serve(EnrolServer::Options options = {}) {
    options.cluster_port = 7400;
    options.program_version = "1";
    options.now = [this] { return now_; };
    options.log = [this](const std::string& line) { log_.push_back(line); };
    server_.emplace(loop_, *head_, std::move(options));
    address_ = *server_->Listen("127.0.0.1:0");
  }

  wire::JoinToken MakeToken(std::uint64_t uses = 1) {
    tokens_.push_back(*head_->MakeToken(uses, kHour, now_));
    return tokens_.back();
  }

  bool Await(const std::function<bool()>& done) { return loop_.RunUntil(done, kSoon); }

  // Runs `client`, which blocks, beside the loop of the head.
  template <class Client>
  auto Beside(Client client) {
    std::optional<decltype(client(loop_))> result;
    bool done = false;
    std::thread thread([&] {
      Loop own;
      result.emplace(client(own));
      loop_.Post([&] { done = true; });
    });
    EXPECT_TRUE(Await([&] { return done; }));
    thread.join();
    return *std::move(result);
  }

  Result<NodeFiles> Join(const wire::JoinToken& token, std::string address = {}) {
    if (address.empty()) address = address_;
    return Beside([&](Loop& own) {
      return Enrol(own, {.head = address,
                         .token = token,
                         .device_name = "phone",
                         .program_version = "1",
                         .connect_max = seconds(10),
                         .silence_max = seconds(10)});
    });
  }
  std::string WhyNot(const wire::JoinToken& token) {
    const Result<NodeFiles> files = Join(token);
    return files.ok() ? "joined" : std::string(files.status().message());
  }

  // What the head answers to these bytes inside TLS.
  Result<wire::EnrolAnswer> Say(std::span<const std::byte> bytes) {
    return Beside([&](Loop& own) -> Result<wire::EnrolAnswer> {
      SHOAL_ASSIGN_OR_RETURN(auto connection,
                             HttpConnection::Connect(own, *ParseEndpoint(address_), kSoon, kSoon));
      SHOAL_RETURN_IF_ERROR(
          connection->Secure(*HashOfAuthority(head_->authority().certificate_pem)));
      SHOAL_RETURN_IF_ERROR(connection->Write(AsText(bytes)));
      Bytes answer(wire::kEnrolHeaderBytes + wire::kEnrolAnswerBytesMax);
      std::size_t filled = 0;
      for (;;) {  // Until the head hangs up.
        const auto n = connection->Read(std::span(answer).subspan(filled));
        if (!n.ok()) break;
        filled += *n;
      }
      if (filled < wire::kEnrolHeaderBytes) return Status(Code::kUnavailable, "no answer");
      return wire::DecodeEnrolAnswer(
          std::span(answer).first(filled).subspan(wire::kEnrolHeaderBytes));
    });
  }

  std::size_t Members() const { return head_->Members()->size(); }

  ScratchDirectory scratch_;
  Loop loop_;
  UnixTime now_ = kNow;
  std::optional<HeadDirectory> head_;
  std::optional<EnrolServer> server_;
  std::string address_;
  std::vector<std::string> log_;
  std::vector<wire::JoinToken> tokens_;
};

TEST_F(EnrolTest, AGoodTokenMakesAMember) {
  Serve();
  const Result<NodeFiles> files = Join(MakeToken());
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  EXPECT_EQ(files->node, NodeId{2});
  EXPECT_EQ(files->heads, std::vector<std::string>{"127.0.0.1:7400"});
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: 127.0.0.1 joined as node 2 (phone)"});
  EXPECT_EQ(head_->Members()->at(1).name, "phone");

  // And the member finds its place in the cluster.
  TcpNetwork::Options as_head;
  as_head.tls = head_->identity();
  as_head.judge_dates = true;
  TestNode head(loop_, kHeadNode, as_head);
  TcpNetwork::Options as_node;
  as_node.tls = *TlsIdentity::Make(files->authority_pem, files->certificate_pem, files->key_pem);
  TestNode node(loop_, NodeId{2}, as_node);
  node.network.Connect(kHeadNode, head.address);
  EXPECT_TRUE(Await([&] { return !node.log.ups.empty() && !head.log.ups.empty(); }));
}

TEST_F(EnrolTest, EveryMemberIsAnother) {
  Serve();
  const wire::JoinToken token = MakeToken(3);
  for (const std::uint64_t id : {2U, 3U, 4U}) {
    const Result<NodeFiles> files = Join(token);
    ASSERT_TRUE(files.ok()) << files.status().ToString();
    EXPECT_EQ(files->node, NodeId{id});
  }
}

TEST_F(EnrolTest, ATokenMadeWhileTheHeadServesIsGood) {
  Serve();
  HeadDirectory beside = *HeadDirectory::Open(Home());  // `shoal token`.
  EXPECT_TRUE(Join(*beside.MakeToken(1, kHour, now_)).ok());
}

TEST_F(EnrolTest, AnUnknownTokenIsRefusedAndLoggedOnce) {
  Serve();
  wire::JoinToken token = MakeToken();
  token.secret[0] ^= std::byte{1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(WhyNot(token), "head at " + address_ +
                                 ": the head does not know this join token; make a new one there "
                                 "with `shoal token`");
  }
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: unknown token"});
  EXPECT_EQ(Members(), 1U);
}

TEST_F(EnrolTest, AnExpiredTokenIsRefused) {
  Serve();
  const wire::JoinToken token = MakeToken();
  now_ += kHour;
  EXPECT_NE(WhyNot(token).find("has expired"), std::string::npos);
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: expired token"});
  EXPECT_EQ(Members(), 1U);
}

TEST_F(EnrolTest, AUsedTokenIsRefused) {
  Serve();
  const wire::JoinToken token = MakeToken();
  ASSERT_TRUE(Join(token).ok());
  EXPECT_NE(WhyNot(token).find("was used before"), std::string::npos);
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_EQ(log_[1], "enrolment: refused 127.0.0.1: token was used before");
  EXPECT_EQ(Members(), 2U);
}

TEST_F(EnrolTest, TheHeadOfAnotherClusterGetsNoSecret) {
  Serve();
  wire::JoinToken token = MakeToken();
  token.authority = *HashOfAuthority(MakeAuthority("attic")->certificate_pem);
  EXPECT_EQ(WhyNot(token),
            "head at " + address_ + ": the join token is of another cluster than the head there");
  ASSERT_TRUE(Await([&] { return !log_.empty(); }));
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: the peer hung up"});
}

// A member that stands where the head should be, with a certificate of the right authority.
struct FalseHead final : EnrolGuestOwner {
  wire::EnrolAnswer OnRequest(const EnrolGuest& /*guest*/,
                              const Result<wire::EnrolRequest>& /*request*/) override {
    got_a_request = true;
    return {};
  }
  void OnGone(EnrolGuest& /*guest*/, const Status& /*why*/) override {}
  bool got_a_request = false;
};

TEST_F(EnrolTest, AMemberCannotPoseAsTheHead) {
  FalseHead owner;
  const auto identity = MakeTestIdentity(head_->authority(), NodeId{2});
  std::shared_ptr<EnrolGuest> guest;
  const auto door = Door::Open(loop_, *ParseEndpoint("127.0.0.1:0"), [&](auto socket) {
    guest = EnrolGuest::Receive(loop_, std::move(socket), *identity, kSoon, owner);
  });
  const Result<NodeFiles> files = Join(MakeToken(), FormatEndpoint((*door)->endpoint()));
  EXPECT_NE(files.status().message().find("there is node 2 of the cluster, not its head"),
            std::string::npos)
      << files.status().ToString();
  EXPECT_FALSE(owner.got_a_request);
  guest->Close();
}

// The certificates of a head whose clock is decades ahead of the phone's, or behind.
TEST_F(EnrolTest, TheDevicesClockDoesNotMatter) {
  for (const auto& [from, until] : {std::pair("20600101000000Z", "20800101000000Z"),
                                    std::pair("20010101000000Z", "20020101000000Z")}) {
    const Authority& authority = head_->authority();
    const std::string node = *ReadFile(Home() + "/node.crt", 1 << 16);
    std::ofstream(Home() + "/ca.crt")
        << WithDates(authority.certificate_pem, authority.key_pem, from, until);
    std::ofstream(Home() + "/node.crt") << WithDates(node, authority.key_pem, from, until);
    server_.reset();
    head_.emplace(*HeadDirectory::Open(Home()));
    Serve();
    EXPECT_EQ(WhyNot(MakeToken()), "joined");
  }
}

TEST_F(EnrolTest, PlainTextIsRefusedAndLoggedOnce) {
  Serve();
  const std::string request = "GET / HTTP/1.1\r\nHost: head\r\n\r\n";
  for (int i = 0; i < 3; ++i) {
    RawPeer peer(loop_, address_);
    peer.Say(ToBytes(std::as_bytes(std::span(request))));
    EXPECT_TRUE(Await([&] { return peer.closed(); }));
  }
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: TLS: http request"});
}

TEST_F(EnrolTest, ARepeatedRequestIsAUsedToken) {
  Serve();
  const auto bytes = wire::EncodeEnrolRequest(RequestWith(MakeToken().secret));
  EXPECT_EQ(Say(bytes)->verdict, EnrolVerdict::kWelcome);
  const Result<wire::EnrolAnswer> again = Say(bytes);
  EXPECT_EQ(again->verdict, EnrolVerdict::kUsedToken);
  EXPECT_TRUE(again->certificate_pem.empty());
  EXPECT_EQ(Members(), 2U);
}

TEST_F(EnrolTest, RecordedBytesAreWorthNothing) {
  Serve();
  // A listener on the way: what the phone and the head say passes through it.
  RawServer wiretap(loop_);
  RawPeer phone_side(loop_);
  phone_side.AcceptFrom(wiretap.acceptor);
  RawPeer head_side(loop_, address_);
  std::size_t up = 0;
  std::size_t down = 0;
  const auto pass = [](const RawPeer& from, RawPeer& to, std::size_t& done) {
    if (from.heard().size() == done) return;
    to.Say(Bytes(from.heard().begin() + static_cast<std::ptrdiff_t>(done), from.heard().end()));
    done = from.heard().size();
  };
  std::optional<Result<NodeFiles>> files;
  bool joined = false;
  std::thread phone([&, token = MakeToken(2)] {
    Loop own;
    files.emplace(Enrol(own, {.head = wiretap.address,
                              .token = token,
                              .device_name = "phone",
                              .program_version = "1",
                              .connect_max = seconds(10),
                              .silence_max = seconds(10)}));
    loop_.Post([&] { joined = true; });
  });
  EXPECT_TRUE(Await([&] {
    pass(phone_side, head_side, up);
    pass(head_side, phone_side, down);
    return joined;
  }));
  phone.join();
  ASSERT_TRUE(files->ok()) << files->status().ToString();
  ASSERT_EQ(Members(), 2U);

  RawPeer replay(loop_, address_);
  replay.Say(phone_side.heard());
  EXPECT_TRUE(Await([&] { return replay.closed(); }));
  EXPECT_EQ(Members(), 2U);
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(EnrolTest, OversizedAndMalformedRequestsAreRefused) {
  Serve();
  Bytes huge = wire::EncodeEnrolRequest(RequestWith(MakeToken().secret));
  huge[6] = huge[7] = std::byte{0xff};
  huge.resize(100'000);
  EXPECT_EQ(Say(huge)->verdict, EnrolVerdict::kMalformed);
  Bytes noise(64, std::byte{0x41});
  EXPECT_EQ(Say(noise)->verdict, EnrolVerdict::kMalformed);
  Bytes long_name = wire::EncodeEnrolRequest(RequestWith(MakeToken().secret));
  long_name[wire::kEnrolHeaderBytes + 19] = std::byte{0xff};  // Length of the key.
  long_name[wire::kEnrolHeaderBytes + 20] = std::byte{0xff};
  EXPECT_EQ(Say(long_name)->verdict, EnrolVerdict::kMalformed);
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: not a request to join"});
  EXPECT_EQ(Members(), 1U);
}

TEST_F(EnrolTest, ATruncatedRequestIsNotAnswered) {
  Serve();
  const auto whole = wire::EncodeEnrolRequest(RequestWith(MakeToken().secret));
  Beside([&](Loop& own) {
    auto connection = *HttpConnection::Connect(own, *ParseEndpoint(address_), kSoon, kSoon);
    EXPECT_TRUE(connection->Secure(*HashOfAuthority(head_->authority().certificate_pem)).ok());
    EXPECT_TRUE(connection->Write(AsText(whole).substr(0, whole.size() - 1)).ok());
    return 0;  // And hangs up.
  });
  EXPECT_TRUE(Await([&] { return !log_.empty(); }));
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: the peer hung up"});
  EXPECT_EQ(Members(), 1U);
}

TEST_F(EnrolTest, SlowPeersAreHungUpOn) {
  Serve({.program_version = {}, .log = {}, .deadline = milliseconds(300)});
  RawPeer silent(loop_, address_);
  RawPeer slow(loop_, address_);
  slow.Say({std::byte{0x16}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}});
  EXPECT_TRUE(Await([&] { return silent.closed() && slow.closed(); }));
  // One that goes through TLS and then says a byte.
  EXPECT_FALSE(Say(Bytes{std::byte{'S'}}).ok());
  EXPECT_EQ(log_, std::vector<std::string>{"enrolment: refused 127.0.0.1: took too long to ask"});
}

TEST_F(EnrolTest, TooManyAtOnceAreTurnedAway) {
  Serve({.program_version = {}, .log = {}, .guests_max = 2});
  RawPeer first(loop_, address_);
  RawPeer second(loop_, address_);
  const std::string why = WhyNot(MakeToken());
  EXPECT_NE(why.find("not too many devices joining at once?"), std::string::npos) << why;
  EXPECT_FALSE(first.closed() || second.closed());
  first.HangUp();
  second.HangUp();
  EXPECT_TRUE(Await([&] { return Join(MakeToken()).ok(); }));
}

TEST_F(EnrolTest, GuessingIsLimited) {
  Serve({.program_version = {}, .log = {}, .refusals_max = 3});
  const wire::JoinToken good = MakeToken();
  wire::JoinToken wrong = good;
  wrong.secret[5] ^= std::byte{1};
  for (int i = 0; i < 3; ++i) EXPECT_NE(WhyNot(wrong).find("does not know"), std::string::npos);
  EXPECT_NE(WhyNot(good).find("wait a minute"), std::string::npos);
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(EnrolTest, OldAnd32BitProgramsAreTold) {
  Serve();
  wire::EnrolRequest request = RequestWith(MakeToken().secret);
  request.protocol = 99;
  Result<wire::EnrolAnswer> answer = Say(wire::EncodeEnrolRequest(request));
  EXPECT_EQ(answer->verdict, EnrolVerdict::kWrongProtocol);
  EXPECT_EQ(wire::ExplainVerdict(*answer),
            "the head runs shoal 1 (protocol 1), this program speaks protocol 1; put the same "
            "version on both");
  request.protocol = wire::kProtocolVersion;
  request.is_64_bit = false;
  EXPECT_EQ(Say(wire::EncodeEnrolRequest(request))->verdict, EnrolVerdict::kNot64Bit);
  Bytes newer = wire::EncodeEnrolRequest(request);
  newer[4] = std::byte{2};
  EXPECT_EQ(Say(newer)->verdict, EnrolVerdict::kWrongProtocol);
  EXPECT_EQ(Members(), 1U);
}

TEST_F(EnrolTest, AHeadThatCannotWriteSaysSo) {
  Serve();
  const wire::JoinToken token = MakeToken();
  const std::string before = *ReadFile(Home() + "/nodes.json", 1 << 16);
  std::ofstream(Home() + "/nodes.json") << "garbage";
  EXPECT_NE(WhyNot(token).find("could not write down the new member"), std::string::npos);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("nodes.json is damaged"), std::string::npos) << log_[0];
  std::ofstream(Home() + "/nodes.json") << before;
  EXPECT_EQ(WhyNot(token), "joined");  // The invitation was not lost.
}

TEST_F(EnrolTest, APortInUseIsNamed) {
  Serve();
  EnrolServer second(loop_, *head_, {});
  const Result<std::string> taken = second.Listen(address_);
  EXPECT_EQ(taken.status().code(), Code::kUnavailable);
  EXPECT_EQ(taken.status().message(), "listen on " + address_ + ": Address already in use");
}

TEST_F(EnrolTest, NobodyThereIsSaidSo) {
  const Result<NodeFiles> files = Join(MakeToken(), "127.0.0.1:1");
  EXPECT_EQ(files.status().code(), Code::kUnavailable);
  EXPECT_NE(files.status().message().find("head at 127.0.0.1:1: connect: Connection refused; is "
                                          "`shoal serve` running there"),
            std::string::npos)
      << files.status().ToString();
  EXPECT_EQ(Join(MakeToken(), "attic:7401").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::os
