// What the Network contract suite needs from a world it runs in: some nodes, a way
// to let time pass, and a cable between every two of them that can misbehave.
// One implementation per network under test: sim, tcp, tls, thread (whose nodes have no cables).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/network.h"

namespace shoal {

class NetworkHarness {
 public:
  virtual ~NetworkHarness() = default;

  // Nodes are made on first use; node ids are 1, 2, 3, …
  virtual Network& node(NodeId id) = 0;
  virtual Clock& clock() = 0;

  // The address under which `to` can be dialled by `from`, through their cable.
  virtual std::string AddressOf(NodeId from, NodeId to) = 0;

  // Runs all nodes until `done` holds (checked after every event). False: `limit` passed first.
  virtual bool RunUntil(const std::function<bool()>& done, Duration limit) = 0;

  // From now on the cable between `a` and `b` swallows everything, both ways, without
  // closing: a phone that left the Wi-Fi. Dialling through it gets no answer.
  virtual void CutCable(NodeId a, NodeId b) = 0;
  virtual void RepairCable(NodeId a, NodeId b) = 0;

  // `id` is alive to the kernel but its process stands still: it reads nothing and
  // answers nothing until Thaw.
  virtual void Freeze(NodeId id) = 0;
  virtual void Thaw(NodeId id) = 0;

  // Limits the cable between `a` and `b` to this rate each way, shared by all traffic
  // of the pair, in order of arrival, as a slow access point does.
  virtual void LimitCable(NodeId a, NodeId b, double bits_per_second) = 0;
};

// The suite is instantiated with one factory per network.
struct NetworkUnderTest {
  std::string name;  // "sim", "tcp", "tls", "thread"
  std::function<std::unique_ptr<NetworkHarness>()> make;
};

}  // namespace shoal
