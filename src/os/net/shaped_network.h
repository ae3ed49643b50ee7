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

class ShapedNetwork final : public Network {
 public:
  // Both outlive it.
  ShapedNetwork(Clock& clock, Network& below, const LinkShape& shape)
      : clock_(clock), below_(below), shape_(shape) {}

  NodeId self() const override { return below_.self(); }
  void Attach(NetworkEvents* events) override { below_.Attach(events); }
  void Connect(NodeId peer, const std::string& address) override { below_.Connect(peer, address); }
  void Disconnect(NodeId peer) override { below_.Disconnect(peer); }
  // What the network below refuses later is lost, as on a link that breaks.
  Status Send(NodeId to, Traffic traffic, Frame frame) override;

 private:
  Clock& clock_;
  Network& below_;
  const LinkShape shape_;
  std::map<NodeId, Instant> free_at_;  // When the link has sent what was given to it.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::os
