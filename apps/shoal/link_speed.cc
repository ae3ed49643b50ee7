#include "shoal/link_speed.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "os/net/tcp_network.h"

namespace shoal {
namespace {

// What a control frame asks for, in its first byte; a little-endian number follows.
constexpr std::byte kEcho{'e'};  // Send this frame back.
constexpr std::byte kSend{'s'};  // Send me so many bytes, as activations.

constexpr std::size_t kRequestBytes = 9;
constexpr std::size_t kTransferFrameBytes = std::size_t{1} << 20;
constexpr int kEchoes = 21;  // Odd: there is a middle one.
constexpr Duration kStepMax = std::chrono::seconds(20);

Frame Request(std::byte what, std::uint64_t number) {
  Frame frame = {what};
  for (unsigned shift = 0; shift < 64; shift += 8) {
    frame.push_back(static_cast<std::byte>(number >> shift));
  }
  return frame;
}

std::uint64_t NumberOf(const Frame& request) {
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < kRequestBytes; ++i) {
    number |= std::to_integer<std::uint64_t>(request[i]) << (8 * (i - 1));
  }
  return number;
}

// Sends frames of zeros until `bytes_left` are queued or the network refuses; the rest
// waits for OnWritable.
void SendZeros(Network& network, NodeId to, std::uint64_t& bytes_left) {
  while (bytes_left > 0) {
    const std::uint64_t bytes = std::min<std::uint64_t>(bytes_left, kTransferFrameBytes);
    if (!network.Send(to, Traffic::kActivations, Frame(bytes)).ok()) return;
    bytes_left -= bytes;
  }
}

// The asking side. Each step runs the loop until its answer has come.
class Asker final : public NetworkEvents {
 public:
  Asker(os::Loop& loop, Network& network) : loop_(loop), network_(network) {
    network_.Attach(this);
  }

  Status Dial(const std::string& address) {
    network_.Connect(kLinkResponder, address);
    return Await([this] { return up_; });
  }

  // All in seconds.
  Result<double> RoundTrip() {
    const Instant before = loop_.Now();
    const std::uint64_t echoes = echoes_ + 1;
    SHOAL_RETURN_IF_ERROR(network_.Send(kLinkResponder, Traffic::kControl, Request(kEcho, 0)));
    SHOAL_RETURN_IF_ERROR(Await([&] { return echoes_ == echoes; }));
    return ToSeconds(loop_.Now() - before);
  }

  Result<double> Receive(std::uint64_t bytes) {
    bytes_received_ = 0;
    const Instant before = loop_.Now();
    SHOAL_RETURN_IF_ERROR(network_.Send(kLinkResponder, Traffic::kControl, Request(kSend, bytes)));
    SHOAL_RETURN_IF_ERROR(Await([&] { return bytes_received_ >= bytes; }));
    return ToSeconds(loop_.Now() - before);
  }

  // The frame of one byte behind the transfer is echoed, so that the time counts until
  // everything has arrived. It is offered after every event until the queue has room.
  Result<double> Transmit(std::uint64_t bytes) {
    const Instant before = loop_.Now();
    bytes_to_send_ = bytes;
    SendZeros(network_, kLinkResponder, bytes_to_send_);
    const std::uint64_t echoes = echoes_ + 1;
    SHOAL_RETURN_IF_ERROR(Await([&] {
      return bytes_to_send_ == 0 &&
             network_.Send(kLinkResponder, Traffic::kActivations, Frame(1)).ok();
    }));
    SHOAL_RETURN_IF_ERROR(Await([&] { return echoes_ == echoes; }));
    return ToSeconds(loop_.Now() - before);
  }

  void OnPeerUp(NodeId) override { up_ = true; }
  void OnPeerDown(NodeId, const Status& why) override { down_ = why; }
  void OnFrame(NodeId, Traffic traffic, Frame frame) override {
    if (traffic == Traffic::kControl) {
      ++echoes_;
    } else {
      bytes_received_ += frame.size();
    }
  }
  void OnWritable(NodeId, Traffic) override { SendZeros(network_, kLinkResponder, bytes_to_send_); }

 private:
  template <class Done>
  Status Await(Done done) {
    const bool came = loop_.RunUntil([&] { return down_.has_value() || done(); }, kStepMax);
    if (down_.has_value()) return *down_;
    if (!came) return Status(Code::kDeadlineExceeded, "no answer within 20 s");
    return {};
  }

  os::Loop& loop_;
  Network& network_;
  bool up_ = false;
  std::optional<Status> down_;
  std::uint64_t echoes_ = 0;
  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_to_send_ = 0;
};

// One frame first, then as many as take about two seconds.
template <class Transfer>
Result<double> MbitPerS(Transfer transfer) {
  constexpr double kSecondsWanted = 2;
  constexpr double kFramesMax = kLinkTransferBytesMax / double{kTransferFrameBytes};
  SHOAL_ASSIGN_OR_RETURN(const double probe, transfer(kTransferFrameBytes));
  const double frames = std::clamp(kSecondsWanted / std::max(probe, 1e-6), 1.0, kFramesMax);
  const std::uint64_t bytes = static_cast<std::uint64_t>(frames) * kTransferFrameBytes;
  SHOAL_ASSIGN_OR_RETURN(const double seconds, transfer(bytes));
  return static_cast<double>(bytes) * 8e-6 / seconds;
}

}  // namespace

LinkResponder::LinkResponder(Network& network) : network_(network) { network_.Attach(this); }

void LinkResponder::OnPeerUp(NodeId) {}

void LinkResponder::OnPeerDown(NodeId peer, const Status&) {
  if (peer == sending_to_) bytes_to_send_ = 0;
}

void LinkResponder::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  // The one-byte frame behind a transfer: all before it has arrived.
  const bool transfer_ends = traffic == Traffic::kActivations && frame.size() == 1;
  const bool request = traffic == Traffic::kControl && frame.size() == kRequestBytes;
  if (transfer_ends || (request && frame[0] == kEcho)) {
    (void)network_.Send(from, Traffic::kControl, Request(kEcho, 0));  // Or it asks again.
  } else if (request && frame[0] == kSend && bytes_to_send_ == 0) {
    sending_to_ = from;
    bytes_to_send_ = std::min(NumberOf(frame), kLinkTransferBytesMax);
    SendMore();
  }
}

void LinkResponder::OnWritable(NodeId peer, Traffic) {
  if (peer == sending_to_) SendMore();
}

void LinkResponder::SendMore() { SendZeros(network_, sending_to_, bytes_to_send_); }

Result<LinkSpeeds> MeasureLink(os::Loop& loop, const std::string& address) {
  // Any id will do that no other asker has at the same time.
  Random random(static_cast<std::uint64_t>(loop.Now().since_origin.count()));
  os::TcpNetwork network(loop, NodeId{random.Bits()}, {});
  Asker asker(loop, network);
  SHOAL_RETURN_IF_ERROR(asker.Dial(address).Annotate("link to " + address));
  std::vector<double> round_trips;
  for (int i = 0; i < kEchoes; ++i) {
    SHOAL_ASSIGN_OR_RETURN(const double seconds, asker.RoundTrip());
    round_trips.push_back(seconds * 1e3);
  }
  std::sort(round_trips.begin(), round_trips.end());
  LinkSpeeds speeds;
  speeds.round_trip_ms_best = round_trips.front();
  speeds.round_trip_ms_median = round_trips[round_trips.size() / 2];
  SHOAL_ASSIGN_OR_RETURN(speeds.receive_mbit_per_s,
                         MbitPerS([&](std::uint64_t bytes) { return asker.Receive(bytes); }));
  SHOAL_ASSIGN_OR_RETURN(speeds.send_mbit_per_s,
                         MbitPerS([&](std::uint64_t bytes) { return asker.Transmit(bytes); }));
  network.Disconnect(kLinkResponder);
  return speeds;
}

}  // namespace shoal
