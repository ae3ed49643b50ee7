// MachineProbe: what this machine's sensors say, for a node's telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/probe.h"
#include "os/machine/sys_root.h"

namespace shoal {

class MachineProbe final : public agent::Probe {
 public:
  // `cores`: those that compute. `watts`: what its owner says it takes, for when it runs on a
  // charger or has no battery; 0: nobody knows.
  MachineProbe(const os::SysRoot& root, std::vector<int> cores, double watts);

  void Read(wire::pb::Telemetry& telemetry) override;

 private:
  std::optional<double> CpuShare();

  const os::SysRoot root_;
  const std::vector<int> cores_;
  const double watts_;
  std::uint64_t busy_ = 0;   // As they were the last time, …
  std::uint64_t total_ = 0;  // … in ticks since the machine was started.
};

}  // namespace shoal
