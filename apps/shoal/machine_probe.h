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
  // `cores`: those that compute.
  MachineProbe(const os::SysRoot& root, std::vector<int> cores);

  void Read(wire::pb::Telemetry& telemetry) override;

 private:
  std::optional<double> CpuShare();

  const os::SysRoot root_;
  const std::vector<int> cores_;
  std::uint64_t busy_ = 0;   // As they were the last time, …
  std::uint64_t total_ = 0;  // … in ticks since the machine was started.
};

}  // namespace shoal
