// FakeNetwork: a network that keeps what is sent for the test to look at, and takes as much as the
// test says.
#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/network.h"

namespace shoal::sim {

class FakeNetwork final : public Network {
 public:
  struct Sent {
    NodeId to;
    Traffic traffic;
    Frame frame;
  };

  NodeId self() const override { return NodeId{1000}; }
  void Attach(NetworkEvents*) override {}
  void Connect(NodeId peer, const std::string& address) override {
    dialled.insert({peer, address});
  }
  void Disconnect(NodeId) override {}
  Status Send(NodeId to, Traffic traffic, Frame frame) override {
    if (down.contains(to)) return {Code::kUnavailable, "not up"};
    if (room == 0) return {Code::kResourceExhausted, "full"};
    --room;
    sent.push_back({to, traffic, std::move(frame)});
    return {};
  }

  std::vector<Sent> sent;
  std::set<std::pair<NodeId, std::string>> dialled;
  std::set<NodeId> down;
  std::size_t room = std::numeric_limits<std::size_t>::max();  // For so many frames.
};

}  // namespace shoal::sim
