#include "os/net/resolver.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace shoal::os {
namespace {

using boost::asio::ip::udp;
using std::chrono::milliseconds;
using Strings = std::vector<std::string>;

TEST(ResolverFilesTest, ReadsServers) {
  EXPECT_EQ(
      ServersIn("# nameserver 9.9.9.9\nsearch lan\nnameserver 10.0.0.1\r\n"
                "nameserver\tfe80::1 ; here\nnameserver phone\nnameserver\nnameserver 1.2.3.4"),
      (Strings{"10.0.0.1:53", "[fe80::1]:53", "1.2.3.4:53"}));
  EXPECT_TRUE(ServersIn("").empty());
  EXPECT_EQ(ServersIn("nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\n"
                      "nameserver 1.1.1.4\nnameserver 1.1.1.5\n")
                .size(),
            4U);
}

TEST(ResolverFilesTest, ReadsHosts) {
  const char* hosts = "127.0.0.1 localhost\n10.0.0.7  Mirror mirror.lan # ours\n::1\nx y\n";
  EXPECT_EQ(AddressesIn(hosts, "mirror.LAN"), Strings{"10.0.0.7"});
  EXPECT_TRUE(AddressesIn(hosts, "ours").empty());
  EXPECT_TRUE(AddressesIn(hosts, "y").empty());
}

TEST(ResolverFilesTest, TakesAServerAsUsersWriteIt) {
  EXPECT_EQ(SystemResolver("1.1.1.1", "")->servers, Strings{"1.1.1.1:53"});
  EXPECT_EQ(SystemResolver("1.1.1.1:5353", "")->servers, Strings{"1.1.1.1:5353"});
  EXPECT_EQ(SystemResolver("::1", "")->servers, Strings{"[::1]:53"});
  EXPECT_EQ(SystemResolver("[::1]", "")->servers, Strings{"[::1]:53"});
  EXPECT_EQ(SystemResolver("one.one", "").status().code(), Code::kInvalidArgument);
}

// A server that answers each datagram with what `answer` makes of it, in order.
class DnsServer {
 public:
  using Answer = std::function<Strings(const std::string& query)>;
  explicit DnsServer(Answer answer)
      : answer_(std::move(answer)),
        socket_(context_, udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    port_ = socket_.local_endpoint().port();
    thread_ = std::thread([this] { Serve(); });
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;
  ~DnsServer() {
    udp::socket stop(context_, udp::v4());
    stop.send_to(boost::asio::buffer("", 1),
                 udp::endpoint(boost::asio::ip::address_v4::loopback(), port_));
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void Serve() {
    std::array<char, 1000> buffer{};
    udp::endpoint from;
    for (;;) {
      const std::size_t size = socket_.receive_from(boost::asio::buffer(buffer), from);
      if (size == 1) return;
      for (const std::string& message : answer_({buffer.data(), size})) {
        boost::system::error_code error;
        socket_.send_to(boost::asio::buffer(message), from, 0, error);
      }
    }
  }

  Answer answer_;
  boost::asio::io_context context_;
  udp::socket socket_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

bool IsV6(const std::string& query) { return query[query.size() - 3] == 28; }

std::string Reply(std::string query, char outcome, const Strings& addresses) {
  query[2] = '\x81';
  query[3] = static_cast<char>(0x80 | outcome);
  query[7] = static_cast<char>(addresses.size());
  for (const std::string& address : addresses) {
    query += std::string("\xc0\x0c\0", 3) + static_cast<char>(IsV6(query) ? 28 : 1) +
             std::string("\0\1\0\0\0\5\0", 7) + static_cast<char>(address.size()) + address;
  }
  return query;
}

class ResolverTest : public testing::Test {
 protected:
  Result<Strings> Ask(const std::vector<std::string>& servers, const std::string& host = "ab.co") {
    return Resolve(
        loop_, {.servers = servers, .hosts = {}, .rounds = 2, .patience = milliseconds(200)}, host);
  }
  Loop loop_;
};

TEST_F(ResolverTest, AnswersOfBothKindsInTurns) {
  const DnsServer server([](const std::string& query) {
    if (IsV6(query)) return Strings{Reply(query, 0, {std::string(15, '\0') + '\1'})};
    return Strings{Reply(query, 0, {"\x0a\1\1\1", "\x0a\1\1\2"})};
  });
  const auto found = Ask({server.address()});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (Strings{"10.1.1.1", "::1", "10.1.1.2"}));
}

TEST_F(ResolverTest, OneKindIsEnough) {
  const DnsServer server([](const std::string& query) {
    return IsV6(query) ? Strings{} : Strings{Reply(query, 0, {"\x0a\1\1\1"})};
  });
  EXPECT_EQ(*Ask({server.address()}), Strings{"10.1.1.1"});
}

TEST_F(ResolverTest, WaitsForTheRealAnswer) {
  const DnsServer server([](const std::string& query) {
    std::string forged = Reply(query, 0, {"\x06\6\6\6"});
    forged[0] = static_cast<char>(forged[0] ^ 1);
    return Strings{forged, "rubbish", Reply(query, 0, {"\x0a\1\1\1"})};
  });
  EXPECT_EQ((*Ask({server.address()}))[0], "10.1.1.1");
}

TEST_F(ResolverTest, AsksTheNextServerAndAgain) {
  const DnsServer silent([](const std::string&) { return Strings{}; });
  const DnsServer failing([](const std::string& query) { return Strings{Reply(query, 2, {})}; });
  int asked = 0;
  const DnsServer late([&](const std::string& query) {
    return ++asked < 3 ? Strings{} : Strings{Reply(query, 0, {"\x0a\1\1\1"})};
  });
  EXPECT_EQ((*Ask({silent.address(), failing.address(), late.address()}))[0], "10.1.1.1");
}

TEST_F(ResolverTest, SaysWhy) {
  const DnsServer none([](const std::string& query) { return Strings{Reply(query, 3, {})}; });
  const auto missing = Ask({none.address()});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(missing.status().message(), "there is no host called ab.co");
  const DnsServer silent([](const std::string&) { return Strings{}; });
  const auto nothing = Ask({silent.address()});
  EXPECT_EQ(nothing.status().code(), Code::kUnavailable);
  EXPECT_EQ(nothing.status().message(),
            "cannot look up ab.co: DNS server " + silent.address() + " does not answer");
  EXPECT_EQ(Ask({}).status().message(),
            "cannot look up ab.co: no DNS server is known, give --dns 1.1.1.1");
  EXPECT_EQ(Ask({"127.0.0.1:1"}, "a..b").status().code(), Code::kInvalidArgument);
}

TEST_F(ResolverTest, NeedsNoServerForWhatIsKnown) {
  EXPECT_EQ(*Ask({}, "10.0.0.7"), Strings{"10.0.0.7"});
  EXPECT_EQ(*Ask({}, "::1"), Strings{"::1"});
  EXPECT_EQ(*Ask({}, "localhost"), (Strings{"127.0.0.1", "::1"}));
  EXPECT_EQ(*Resolve(loop_, {.servers = {}, .hosts = "10.0.0.7 mirror\n"}, "mirror"),
            Strings{"10.0.0.7"});
}

}  // namespace
}  // namespace shoal::os
