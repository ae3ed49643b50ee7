// ShapedNetwork: a network whose links are as slow as one wants, to try on one machine what phones
// do on Wi-Fi. Every frame sent takes a fixed time longer to arrive, and leaves only when those
// before it have, at a given rate.
//
// Belongs to one event loop, as the network below it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/network.h"

namespace shoal::os {

struct LinkShape {
  Duration delay{0};           // One way.
  double bits_per_second = 0;  // To each peer; 0: not limited.
};

// Without a shape it is the network below. With one, frames wait here, however many.
class ShapedNetwork final : public Network, private NetworkEvents {
 public:
  // Both outlive it.
  ShapedNetwork(Clock& clock, Network& below, const LinkShape& shape)
      : clock_(clock), below_(below), shape_(shape) {}

  NodeId self() const override { return below_.self(); }
  void Attach(NetworkEvents* events) override;
  void Connect(NodeId peer, const std::string& address) override { below_.Connect(peer, address); }
  void Disconnect(NodeId peer) override;
  // What the network below refuses later is lost, as on a link that breaks.
  Status Send(NodeId to, Traffic traffic, Frame frame) override;

 private:
  struct Link {
    std::uint64_t number = 0;  // Frames of an earlier one are lost.
    Instant free_at{};         // When it has sent what was given to it.
  };

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

  Clock& clock_;
  Network& below_;
  const LinkShape shape_;
  NetworkEvents* events_ = nullptr;
  std::map<NodeId, Link> links_;  // Those that are up.
  std::uint64_t ups_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::os
