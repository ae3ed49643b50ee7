#include "os/net/resolver.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/udp.hpp>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "os/loop_internal.h"
#include "os/net/dns_message.h"
#include "os/net/endpoint_internal.h"
#include "os/net/openssl_internal.h"
#include "os/net/stream_internal.h"
#include "os/net/wait_internal.h"

namespace shoal::os {
namespace {

using boost::asio::ip::udp;
using boost::system::error_code;

// Once one kind of address is known, the other is not waited for longer than this.
constexpr Duration kSecondAnswerPatience = std::chrono::milliseconds(300);
// Datagrams that are no answer to us, before the server is given up.
constexpr int kStrangersMax = 100;

using Addresses = std::vector<DnsAddress>;

// One of the two questions about a host, IPv4 and IPv6.
struct Asked {
  DnsQuestion question;
  std::optional<Result<Addresses>> answer;
};

Result<std::array<Asked, 2>> MakeQuestions(const std::string& host) {
  std::array<std::uint16_t, 2> ids{};
  InitOpenSsl();
  if (RAND_bytes(reinterpret_cast<unsigned char*>(ids.data()), sizeof(ids)) != 1) {
    return OpenSslError(Code::kUnavailable, "random number");
  }
  if (ids[0] == ids[1]) ids[1] ^= 1U;
  return std::array<Asked, 2>{
      Asked{.question = {.id = ids[0], .name = host, .type = DnsType::kA}, .answer = {}},
      Asked{.question = {.id = ids[1], .name = host, .type = DnsType::kAaaa}, .answer = {}}};
}

// Takes one datagram, whatever it is.
void Receive(udp::socket& socket, std::array<Asked, 2>& asked) {
  std::array<std::byte, 4096> datagram;  // NOLINT: filled below
  error_code error;
  const std::size_t size = socket.receive(boost::asio::buffer(datagram), 0, error);
  if (error) return;
  for (Asked& one : asked) {
    auto answer = ParseDnsAnswer(std::span(datagram).first(size), one.question);
    const bool stranger = !answer.ok() && answer.status().code() == Code::kCorruption;
    if (!stranger && !one.answer) one.answer = std::move(answer);
  }
}

// Asks one server once, both questions from one port that the kernel chose. Connected: the
// kernel lets through only what comes from the server's address.
Status AskServer(Loop& loop, const std::string& server, Duration patience,
                 std::array<Asked, 2>& asked) {
  SHOAL_ASSIGN_OR_RETURN(const auto endpoint, ParseEndpoint(server));
  const udp::endpoint to(endpoint.address(), endpoint.port());
  udp::socket socket(LoopInternals::Context(loop));
  error_code error;
  socket.open(to.protocol(), error);
  if (!error) socket.non_blocking(true, error);
  if (!error) socket.connect(to, error);
  if (error) return SocketError("DNS server " + server, error);
  for (const Asked& one : asked) {
    SHOAL_ASSIGN_OR_RETURN(const auto query, EncodeDnsQuery(one.question));
    socket.send(boost::asio::buffer(query), 0, error);
    if (error) return SocketError("DNS server " + server, error);
  }
  Instant deadline = loop.Now() + patience;
  for (int i = 0; i < kStrangersMax; ++i) {
    if (asked[0].answer && asked[1].answer) return {};
    if (!WaitFor(loop, socket.native_handle(), Wait::kReadable, deadline).ok()) break;
    const bool none_before = !asked[0].answer && !asked[1].answer;
    Receive(socket, asked);
    const bool one_now = asked[0].answer.has_value() != asked[1].answer.has_value();
    if (none_before && one_now) {
      const Asked& known = asked[0].answer ? asked[0] : asked[1];
      if (known.answer->ok() && !(**known.answer).empty()) {
        deadline = std::min(deadline, loop.Now() + kSecondAnswerPatience);
      }
    }
  }
  if (asked[0].answer || asked[1].answer) return {};
  return {Code::kUnavailable, "DNS server " + server + " does not answer"};
}

std::string ToText(const DnsAddress& address) {
  using boost::asio::ip::address_v4;
  using boost::asio::ip::address_v6;
  if (address.v6) return address_v6(address.bytes).to_string();
  address_v4::bytes_type four{};
  std::copy_n(address.bytes.begin(), four.size(), four.begin());
  return address_v4(four).to_string();
}

// IPv4 and IPv6 in turns.
std::vector<std::string> InTurns(const std::array<Asked, 2>& asked) {
  std::vector<std::string> addresses;
  for (std::size_t i = 0;; ++i) {
    const std::size_t before = addresses.size();
    for (const Asked& one : asked) {
      if (one.answer && one.answer->ok() && i < (**one.answer).size()) {
        addresses.push_back(ToText((**one.answer)[i]));
      }
    }
    if (addresses.size() == before) return addresses;
  }
}

// What a server said that gave no address; OK if it did not say that there is none.
Status Denial(const std::array<Asked, 2>& asked, const std::string& host) {
  for (const Asked& one : asked) {
    if (one.answer && !one.answer->ok() && one.answer->status().code() == Code::kNotFound) {
      return one.answer->status();
    }
  }
  const bool empty =
      asked[0].answer && asked[0].answer->ok() && asked[1].answer && asked[1].answer->ok();
  if (empty) return {Code::kNotFound, "host " + host + " has no address"};
  return {};
}

// What is known without asking anybody.
std::vector<std::string> KnownAddresses(const ResolverOptions& options, const std::string& host) {
  error_code error;
  const auto literal = boost::asio::ip::make_address(host, error);
  if (!error) return {literal.to_string()};
  auto listed = AddressesIn(options.hosts, host);
  if (!listed.empty()) return listed;
  if (host == "localhost" || host.ends_with(".localhost")) return {"127.0.0.1", "::1"};
  return {};
}

}  // namespace

Result<std::vector<std::string>> Resolve(Loop& loop, const ResolverOptions& options,
                                         const std::string& host) {
  if (auto known = KnownAddresses(options, host); !known.empty()) return known;
  if (options.servers.empty()) {
    return Status(Code::kInvalidArgument,
                  "cannot look up " + host + ": no DNS server is known, give --dns 1.1.1.1");
  }
  Status failure;
  Duration patience = options.patience;
  for (int round = 0; round < options.rounds; ++round, patience *= 2) {
    for (const std::string& server : options.servers) {
      SHOAL_ASSIGN_OR_RETURN(auto asked, MakeQuestions(host));
      SHOAL_RETURN_IF_ERROR(EncodeDnsQuery(asked[0].question).status());
      failure = AskServer(loop, server, patience, asked);
      if (!failure.ok()) continue;
      if (auto addresses = InTurns(asked); !addresses.empty()) return addresses;
      SHOAL_RETURN_IF_ERROR(Denial(asked, host));
      failure = Status(Code::kUnavailable, "DNS server " + server + " cannot say where it is");
    }
  }
  return std::move(failure).Annotate("cannot look up " + host);
}

}  // namespace shoal::os
