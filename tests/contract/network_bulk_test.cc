// The promise that makes one network enough for weights and heartbeats: 64 MiB of
// bulk over a 10 Mb/s link, and control messages that do not notice. It takes as long
// as such a link does, 54 s of the network's time, so it is a program of its own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "contract/network_fixture.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBulkFrames = (std::size_t{64} << 20) / kBulkFrameBytesMax;
constexpr double kBitsPerSecond = 10e6;

// A frame that holds when it was sent, and the way back.
Frame Stamp(Instant now, std::size_t bytes) {
  Frame frame(bytes);
  std::memcpy(frame.data(), &now, sizeof(now));
  return frame;
}
Duration Age(const Frame& frame, Instant now) {
  Instant sent;
  std::memcpy(&sent, frame.data(), sizeof(sent));
  return now - sent;
}

class Receiver final : public NetworkEvents {
 public:
  Receiver(Network& network, Clock& clock) : network_(network), clock_(clock) {
    network_.Attach(this);
  }
  ~Receiver() { network_.Attach(nullptr); }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void OnPeerUp(NodeId /*peer*/) override {}
  void OnPeerDown(NodeId /*peer*/, const Status& why) override {
    ADD_FAILURE() << "the link went down: " << why.ToString();
  }
  void OnFrame(NodeId /*from*/, Traffic traffic, Frame frame) override {
    if (traffic == Traffic::kBulk) ++bulk_frames;
    if (traffic == Traffic::kControl) control_ages.push_back(Age(frame, clock_.Now()));
    if (traffic == Traffic::kActivations) activation_ages.push_back(Age(frame, clock_.Now()));
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

  std::size_t bulk_frames = 0;
  std::vector<Duration> control_ages;
  std::vector<Duration> activation_ages;

 private:
  Network& network_;
  Clock& clock_;
};

// Keeps the bulk queue full, and sends a control message every 20 ms and an activation
// frame (one token of a 4,096-wide model) every 50 ms.
class Sender final : public NetworkEvents {
 public:
  Sender(Network& network, Clock& clock, NodeId to) : network_(network), clock_(clock), to_(to) {
    network_.Attach(this);
  }
  ~Sender() {
    network_.Attach(nullptr);
    clock_.Cancel(tick_);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void OnPeerUp(NodeId /*peer*/) override {
    FillBulk();
    Tick();
  }
  void OnPeerDown(NodeId /*peer*/, const Status& why) override {
    ADD_FAILURE() << "the link went down: " << why.ToString();
    clock_.Cancel(tick_);
    down = true;
  }
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override {}
  void OnWritable(NodeId /*peer*/, Traffic traffic) override {
    if (traffic == Traffic::kBulk) FillBulk();
  }

  bool down = false;

 private:
  void FillBulk() {
    while (bulk_sent_ < kBulkFrames &&
           network_.Send(to_, Traffic::kBulk, Frame(kBulkFrameBytesMax)).ok()) {
      ++bulk_sent_;
    }
  }
  void Tick() {
    const Instant now = clock_.Now();
    EXPECT_TRUE(network_.Send(to_, Traffic::kControl, Stamp(now, 64)).ok());
    if (++ticks_ % 5 < 2) {
      EXPECT_TRUE(network_.Send(to_, Traffic::kActivations, Stamp(now, 8192)).ok());
    }
    tick_ = clock_.CallAfter(milliseconds(20), [this] { Tick(); });
  }

  Network& network_;
  Clock& clock_;
  NodeId to_;
  std::size_t bulk_sent_ = 0;
  int ticks_ = 0;
  TimerId tick_{};
};

Duration Percentile(std::vector<Duration> ages, double share) {
  std::sort(ages.begin(), ages.end());
  return ages[static_cast<std::size_t>(share * static_cast<double>(ages.size() - 1))];
}

using NetworkBulk = NetworkContract;

TEST_P(NetworkBulk, ControlArrivesInTimeDuringABulkTransfer) {
  Clock& clock = world_->clock();
  Receiver receiver(world_->node(kB), clock);
  Sender sender(world_->node(kA), clock, kB);
  const std::string address = world_->AddressOf(kA, kB);
  world_->LimitCable(kA, kB, kBitsPerSecond);
  world_->node(kA).Connect(kB, address);
  const Instant begin = clock.Now();
  ASSERT_TRUE(world_->RunUntil([&] { return receiver.bulk_frames == kBulkFrames || sender.down; },
                               seconds(170)));
  ASSERT_FALSE(sender.down);
  const double bulk_bits = static_cast<double>(kBulkFrames * kBulkFrameBytesMax) * 8;
  const double used = bulk_bits / ToSeconds(clock.Now() - begin) / kBitsPerSecond;
  const Duration median = Percentile(receiver.control_ages, 0.5);
  const Duration late = Percentile(receiver.control_ages, 0.95);
  const Duration worst = Percentile(receiver.control_ages, 1.0);
  std::printf(
      "bulk used %.0f %% of the link; control: median %.1f ms, 95 %% %.1f ms, worst %.1f ms; "
      "activations: 95 %% %.1f ms\n",
      used * 100, ToMilliseconds(median), ToMilliseconds(late), ToMilliseconds(worst),
      ToMilliseconds(Percentile(receiver.activation_ages, 0.95)));

  // Activations and acknowledgements take 14 % of the link.
  EXPECT_GE(used, 0.6);
  EXPECT_GE(receiver.control_ages.size(), 2000U);
  // In sim time is exact. On a real machine the process itself may stand still for
  // tens of milliseconds at any moment, which a message cannot be blamed for.
  const bool exact = GetParam().name == "sim";
  EXPECT_LE(late, milliseconds(100));
  EXPECT_LE(worst, exact ? milliseconds(100) : milliseconds(500));
}

INSTANTIATE_TEST_SUITE_P(Over, NetworkBulk, NetworksUnderTest(), NetworkName);

}  // namespace
}  // namespace shoal
