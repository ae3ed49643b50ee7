// What a hop costs on this machine: two nodes on loopback, each with a thread of its
// own. Round trips of one byte and throughput per class; ours is TLS, plain TCP the peer,
// so a ratio is what encryption leaves.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/network.h"
#include "bench/report.h"
#include "os/loop.h"
#include "os/net/certificates.h"
#include "os/net/tcp_network.h"
#include "os/net/tls.h"

namespace shoal {
namespace {

constexpr NodeId kClient{1};
constexpr NodeId kServer{2};
constexpr std::size_t kRoundTrips = 5000;
constexpr std::size_t kStreamBytes = std::size_t{128} << 20;
constexpr int kTurns = 5;

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

struct Figures {
  double round_trip_us = std::numeric_limits<double>::infinity();
  double activations_mb_per_s = 0;
  double bulk_mb_per_s = 0;
};

void Improve(Figures& best, const Figures& now) {
  best.round_trip_us = std::min(best.round_trip_us, now.round_trip_us);
  best.activations_mb_per_s = std::max(best.activations_mb_per_s, now.activations_mb_per_s);
  best.bulk_mb_per_s = std::max(best.bulk_mb_per_s, now.bulk_mb_per_s);
}

Figures MeasureClient(const os::TcpNetwork::Options& options, const std::string& address) {
  os::Loop loop;
  os::TcpNetwork network(loop, kClient, options);
  Client client(loop, network);
  network.Connect(kServer, address);
  client.WaitUntilUp();
  Figures figures;
  figures.round_trip_us = client.RoundTripUs();
  figures.activations_mb_per_s =
      client.StreamRate(Traffic::kActivations, std::size_t{4} << 20) * 1e-6;
  figures.bulk_mb_per_s = client.StreamRate(Traffic::kBulk, kBulkFrameBytesMax) * 1e-6;
  return figures;
}

Figures Measure(bool tls) {
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
  const Figures figures = MeasureClient(client_options, address);
  server_loop.Stop();
  thread.join();
  return figures;
}

bench::Report RunNetworkBench() {
  Figures tcp;
  Figures tls;
  for (int turn = 0; turn < kTurns; ++turn) {
    Improve(tcp, Measure(false));
    Improve(tls, Measure(true));
  }
  const auto row = [&](const char* name, const char* unit, bool higher, double Figures::*figure) {
    return bench::Row{.name = name,
                      .unit = unit,
                      .higher_is_better = higher,
                      .ours = tls.*figure,
                      .peers = {{"plain tcp", tcp.*figure}},
                      .limit = {}};
  };
  return {.bench = "network",
          .rows = {row("round trip of one byte", "us", false, &Figures::round_trip_us),
                   row("activations of 4 MiB", "MB/s", true, &Figures::activations_mb_per_s),
                   row("bulk of 256 KiB", "MB/s", true, &Figures::bulk_mb_per_s)}};
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  CLI::App app{"What a hop costs on this machine, with TLS and without.", "network"};
  bool json = false;
  app.add_flag("--json", json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  shoal::bench::Print(shoal::RunNetworkBench(), json);
  return 0;
}
