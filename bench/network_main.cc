// What a hop costs on this machine: two nodes on loopback, each with a thread of its
// own, over TCP and over TLS. Prints round trips of one byte and throughput per class.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/network.h"
#include "os/certificates.h"
#include "os/loop.h"
#include "os/tcp_network.h"
#include "os/tls.h"

namespace shoal {
namespace {

constexpr NodeId kClient{1};
constexpr NodeId kServer{2};
constexpr std::size_t kRoundTrips = 5000;
constexpr std::size_t kStreamBytes = std::size_t{512} << 20;

// Answers control at once, and one byte for each kStreamBytes of anything else.
class Server final : public NetworkEvents {
 public:
  explicit Server(Network& network) : network_(network) { network_.Attach(this); }
  void OnPeerUp(NodeId /*peer*/) override {}
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override {}
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    if (traffic != Traffic::kControl) {
      bytes_ += frame.size();
      if (bytes_ < kStreamBytes) return;
      bytes_ = 0;
    }
    SHOAL_CHECK(network_.Send(from, Traffic::kControl, Frame(1)).ok());
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

 private:
  Network& network_;
  std::size_t bytes_ = 0;
};

class Client final : public NetworkEvents {
 public:
  Client(os::Loop& loop, Network& network) : loop_(loop), network_(network) {
    network_.Attach(this);
  }

  void WaitUntilUp() {
    Run([this] { return up_; });
  }

  // Median of kRoundTrips, in microseconds.
  double RoundTripUs() {
    std::vector<Duration> times;
    for (std::size_t i = 0; i < kRoundTrips; ++i) {
      const Instant begin = loop_.Now();
      const std::size_t answers = answers_;
      SHOAL_CHECK(network_.Send(kServer, Traffic::kControl, Frame(1)).ok());
      Run([&] { return answers_ > answers; });
      times.push_back(loop_.Now() - begin);
    }
    std::nth_element(times.begin(), times.begin() + kRoundTrips / 2, times.end());
    return ToSeconds(times[kRoundTrips / 2]) * 1e6;
  }

  // Bytes per second of kStreamBytes in frames of `frame_bytes`.
  double StreamRate(Traffic traffic, std::size_t frame_bytes) {
    const Instant begin = loop_.Now();
    const std::size_t answers = answers_;
    traffic_ = traffic;
    frame_bytes_ = frame_bytes;
    left_ = kStreamBytes / frame_bytes;
    SendMore();
    Run([&] { return answers_ > answers; });
    return static_cast<double>(kStreamBytes) / ToSeconds(loop_.Now() - begin);
  }

  void OnPeerUp(NodeId /*peer*/) override { up_ = true; }
  void OnPeerDown(NodeId /*peer*/, const Status& why) override {
    std::fprintf(stderr, "%s\n", why.ToString().c_str());
    SHOAL_CHECK(false);
  }
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override { ++answers_; }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override { SendMore(); }

 private:
  void Run(const std::function<bool()>& done) {
    SHOAL_CHECK(loop_.RunUntil(done, std::chrono::seconds(120)));
  }
  void SendMore() {
    while (left_ > 0 && network_.Send(kServer, traffic_, Frame(frame_bytes_)).ok()) --left_;
  }

  os::Loop& loop_;
  Network& network_;
  bool up_ = false;
  std::size_t answers_ = 0;
  Traffic traffic_ = Traffic::kBulk;
  std::size_t frame_bytes_ = 0;
  std::size_t left_ = 0;
};

std::shared_ptr<const os::TlsIdentity> Identity(const os::Authority& authority, NodeId id) {
  const std::string key = *os::MakePrivateKey();
  const auto certificate = *os::IssueCertificate(authority, id, *os::PublicKeyOf(key));
  return *os::TlsIdentity::Make(authority.certificate_pem, certificate.certificate_pem, key);
}

void Measure(bool tls) {
  os::TcpNetwork::Options server_options;
  os::TcpNetwork::Options client_options;
  if (tls) {
    const os::Authority authority = *os::MakeAuthority("bench");
    server_options.tls = Identity(authority, kServer);
    client_options.tls = Identity(authority, kClient);
  }
  os::Loop server_loop;
  os::TcpNetwork server_network(server_loop, kServer, server_options);
  Server server(server_network);
  const std::string address = *server_network.Listen("127.0.0.1:0");
  std::thread thread([&] { server_loop.Run(); });
  {
    os::Loop loop;
    os::TcpNetwork network(loop, kClient, client_options);
    Client client(loop, network);
    network.Connect(kServer, address);
    client.WaitUntilUp();
    const double round_trip = client.RoundTripUs();
    const double activations = client.StreamRate(Traffic::kActivations, std::size_t{4} << 20);
    const double bulk = client.StreamRate(Traffic::kBulk, kBulkFrameBytesMax);
    std::printf("%-4s %14.1f %20.0f %14.0f\n", tls ? "tls" : "tcp", round_trip, activations / 1e6,
                bulk / 1e6);
  }
  server_loop.Stop();
  thread.join();
}

}  // namespace
}  // namespace shoal

int main() {
  std::printf("%-4s %14s %20s %14s\n", "", "round trip us", "activations MB/s", "bulk MB/s");
  shoal::Measure(false);
  shoal::Measure(true);
  return 0;
}
