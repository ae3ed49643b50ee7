// What the Network contract tests share: nodes that record their events, and the list
// of networks that must pass.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/network.h"
#include "base/random.h"
#include "contract/network_harness.h"
#include "contract/sim_harness.h"
#include "contract/socket_harness.h"
#include "contract/thread_harness.h"

namespace shoal {

// For gtest, and through it for the names of ctest.
inline void PrintTo(const NetworkUnderTest& network, std::ostream* out) { *out << network.name; }

// Those between machines.
inline auto NetworksUnderTest() {
  return testing::Values(SimUnderTest(), TcpUnderTest(), TlsUnderTest());
}
inline auto AllNetworksUnderTest() {
  return testing::Values(SimUnderTest(), TcpUnderTest(), TlsUnderTest(), ThreadUnderTest());
}

// A frame whose content says which it is.
inline Frame PatternFrame(std::uint64_t index, std::size_t bytes) {
  Random random(index);
  Frame frame(bytes);
  for (std::byte& byte : frame) byte = static_cast<std::byte>(random.Bits() & 0xffU);
  return frame;
}

// Calls a node's Network as its user does, writes down its events, and fails the test
// when one comes from inside a call.
class Peer final : public NetworkEvents {
 public:
  struct Down {
    NodeId peer;
    Status why;
  };
  struct Received {
    NodeId from;
    Traffic traffic;
    Frame frame;
  };

  explicit Peer(Network& network) : network_(network) { network_.Attach(this); }
  ~Peer() { network_.Attach(nullptr); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void Connect(NodeId to, const std::string& address) {
    const InCall in_call(*this);
    network_.Connect(to, address);
  }
  void Disconnect(NodeId from) {
    const InCall in_call(*this);
    network_.Disconnect(from);
  }
  Status Send(NodeId to, Traffic traffic, Frame frame) {
    const InCall in_call(*this);
    return network_.Send(to, traffic, std::move(frame));
  }

  void OnPeerUp(NodeId peer) override {
    Note("up");
    ups.push_back(peer);
  }
  void OnPeerDown(NodeId peer, const Status& why) override {
    Note("down");
    downs.push_back({peer, why});
  }
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    Note("frame");
    received.push_back({from, traffic, std::move(frame)});
    if (on_frame) on_frame();
  }
  void OnWritable(NodeId peer, Traffic traffic) override {
    Note("writable");
    writable.emplace_back(peer, traffic);
  }

  std::vector<Frame> FramesOf(Traffic traffic) const {
    std::vector<Frame> frames;
    for (const Received& r : received) {
      if (r.traffic == traffic) frames.push_back(r.frame);
    }
    return frames;
  }

  std::vector<NodeId> ups;
  std::vector<Down> downs;
  std::vector<Received> received;
  std::vector<std::pair<NodeId, Traffic>> writable;
  std::vector<std::string> order;  // Of all events.
  std::function<void()> on_frame;

 private:
  struct InCall {
    explicit InCall(Peer& its_peer) : peer(its_peer) { ++peer.calls_; }
    ~InCall() { --peer.calls_; }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
    Peer& peer;
  };

  void Note(const char* event) {
    EXPECT_EQ(calls_, 0) << event << " came from inside a call";
    order.emplace_back(event);
  }

  Network& network_;
  int calls_ = 0;
};

class NetworkContract : public testing::TestWithParam<NetworkUnderTest> {
 protected:
  // Far beyond every limit of an implementation, and beyond a loaded machine's pauses.
  static constexpr Duration kSoon = std::chrono::seconds(30);

  static constexpr NodeId kA{1};
  static constexpr NodeId kB{2};
  static constexpr NodeId kC{3};

  void SetUp() override { world_ = GetParam().make(); }
  void TearDown() override {
    peers_.clear();
    world_.reset();
  }

  Peer& At(NodeId id) {
    std::unique_ptr<Peer>& peer = peers_[id];
    if (peer == nullptr) peer = std::make_unique<Peer>(world_->node(id));
    return *peer;
  }

  bool Await(const std::function<bool()>& done) { return world_->RunUntil(done, kSoon); }
  // Lets time pass without waiting for anything.
  void Pass(Duration time) {
    world_->RunUntil([] { return false; }, time);
  }

  // Dials and waits until both sides are up once more than before.
  void Join(NodeId from, NodeId to) {
    const std::size_t from_ups = At(from).ups.size();
    const std::size_t to_ups = At(to).ups.size();
    At(from).Connect(to, world_->AddressOf(from, to));
    ASSERT_TRUE(
        Await([&] { return At(from).ups.size() > from_ups && At(to).ups.size() > to_ups; }));
  }

  std::unique_ptr<NetworkHarness> world_;
  std::map<NodeId, std::unique_ptr<Peer>> peers_;
};

inline std::string NetworkName(const testing::TestParamInfo<NetworkUnderTest>& info) {
  return info.param.name;
}

}  // namespace shoal
