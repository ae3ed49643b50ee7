// ClusterStatus: the cluster as the HTTP doors show it, and what operators may do to its nodes.
#pragma once

#include <string>
#include <vector>

#include "api/admin.h"
#include "api/health.h"
#include "base/status.h"
#include "coordinator/coordinator.h"
#include "os/cluster/head_directory.h"
#include "os/net/tcp_network.h"

namespace shoal {

class ClusterStatus final : public api::HealthSource, public api::AdminSource {
 public:
  // Everything outlives it.
  ClusterStatus(coordinator::Coordinator& coordinator, os::HeadDirectory& directory,
                os::TcpNetwork& network)
      : coordinator_(coordinator), directory_(directory), network_(network) {}

  api::Health GetHealth() const override;
  std::vector<api::NodeSummary> Nodes() const override;
  Status Drain(NodeId node) override;
  Status Evict(NodeId node) override;
  Status Label(NodeId node, const std::string& label) override;

 private:
  coordinator::Coordinator& coordinator_;
  os::HeadDirectory& directory_;
  os::TcpNetwork& network_;
};

}  // namespace shoal
