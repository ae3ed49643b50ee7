// The Network contract suite in a simulated world: no socket, no thread, no waiting.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "contract/network_harness.h"
#include "sim/world.h"

namespace shoal {

class SimHarness final : public NetworkHarness {
 public:
  SimHarness();

  Network& node(NodeId id) override;
  Clock& clock() override;
  std::string AddressOf(NodeId from, NodeId to) override;
  bool RunUntil(const std::function<bool()>& done, Duration limit) override;
  void CutCable(NodeId a, NodeId b) override;
  void RepairCable(NodeId a, NodeId b) override;
  void Freeze(NodeId id) override;
  void Thaw(NodeId id) override;
  void LimitCable(NodeId a, NodeId b, double bits_per_second) override;

 private:
  void Tick();

  sim::World world_;
};

// For INSTANTIATE_TEST_SUITE_P: {"sim", a maker of SimHarness}.
NetworkUnderTest SimUnderTest();

}  // namespace shoal
