// ClusterStatus: the cluster as the HTTP doors show it, and what operators may do to its nodes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "api/admin.h"
#include "api/cluster_report.h"
#include "api/health.h"
#include "base/clock.h"
#include "base/status.h"
#include "coordinator/coordinator.h"
#include "coordinator/energy.h"
#include "os/cluster/head_directory.h"
#include "os/net/tcp_network.h"

namespace shoal {

struct ClusterStatusOptions {
  std::string model;  // What people call it.
  std::size_t layers = 0;
  coordinator::Tariff tariff;
  bool audited = false;  // Work is computed again, in part.
};

class ClusterStatus final : public api::HealthSource, public api::AdminSource {
 public:
  // Everything outlives it. `clock`: the coordinator's.
  ClusterStatus(const Clock& clock, coordinator::Coordinator& coordinator,
                os::HeadDirectory& directory, os::TcpNetwork& network, ClusterStatusOptions options)
      : clock_(clock),
        coordinator_(coordinator),
        directory_(directory),
        network_(network),
        options_(std::move(options)) {}

  api::Health GetHealth() const override;
  std::vector<api::NodeSummary> Nodes() const override;
  api::ClusterReport Report() const override;
  Status Drain(NodeId node, bool draining) override;
  Status Pardon(NodeId node) override;
  Status Evict(NodeId node) override;
  Status Label(NodeId node, const std::string& label) override;
  Result<WorkRules> Rules(NodeId node) const override;
  Status SetRules(NodeId node, const WorkRules& rules) override;

 private:
  api::ClusterEnergySummary Energy(const std::vector<api::NodeSummary>& nodes) const;

  const Clock& clock_;
  coordinator::Coordinator& coordinator_;
  os::HeadDirectory& directory_;
  os::TcpNetwork& network_;
  const ClusterStatusOptions options_;
};

}  // namespace shoal
