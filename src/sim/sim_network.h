// SimNetwork: one node's view of the Links of its World.
#pragma once

#include <string>
#include <utility>

#include "base/network.h"
#include "sim/links.h"

namespace shoal::sim {

class SimNetwork final : public Network {
 public:
  // `links` outlives it.
  SimNetwork(Links& links, NodeIndex node) : links_(links), node_(node) {}

  NodeId self() const override { return links_.IdOf(node_); }
  void Attach(NetworkEvents* events) override { links_.Attach(node_, events); }
  void Connect(NodeId peer, const std::string& address) override {
    links_.Connect(node_, peer, address);
  }
  void Disconnect(NodeId peer) override { links_.Disconnect(node_, peer); }
  Status Send(NodeId to, Traffic traffic, Frame frame) override {
    return links_.Send(node_, to, traffic, std::move(frame));
  }

 private:
  Links& links_;
  const NodeIndex node_;
};

}  // namespace shoal::sim
