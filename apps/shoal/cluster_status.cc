#include "shoal/cluster_status.h"

#include <algorithm>
#include <set>

namespace shoal {
namespace {

// What the node holds of this pipeline, if anything.
void ShowStage(const coordinator::Line& line, api::NodeSummary& node) {
  if (!line.formation().Has(node.id)) return;
  for (const pipeline::RouteStage& stage : line.replica().route().stages) {
    if (stage.node != node.id) continue;
    node.replica = line.number();
    node.answers = line.replica().size();
    node.layer_begin = static_cast<std::size_t>(stage.range.first);
    node.layer_end = static_cast<std::size_t>(stage.range.end);
  }
}

}  // namespace

api::Health ClusterStatus::GetHealth() const {
  const auto& lines = coordinator_.lines().lines();
  return {.waiting = coordinator_.lines().why_waiting(),
          .nodes = coordinator_.roster().members().size(),
          .replicas = static_cast<std::size_t>(std::count_if(
              lines.begin(), lines.end(), [](const auto& line) { return line->running(); })),
          .answers_running = coordinator_.answers_running(),
          .answers_waiting = coordinator_.answers_waiting()};
}

std::vector<api::NodeSummary> ClusterStatus::Nodes() const {
  std::vector<api::NodeSummary> nodes;
  const Result<std::vector<os::MemberRecord>> known = directory_.Members();
  if (!known.ok()) return nodes;
  const auto& here = coordinator_.roster().members();
  for (const os::MemberRecord& record : *known) {
    if (record.id == network_.self() || record.revoked) continue;
    api::NodeSummary node;
    node.id = record.id;
    node.label = record.labels.empty() ? record.name : record.labels.front();
    node.state = "down";
    if (const auto found = here.find(record.id); found != here.end()) {
      const coordinator::Member& member = found->second;
      node.state = member.draining ? "draining" : "up";
      node.address = member.hello.address();
      const wire::pb::Telemetry& telemetry = member.telemetry;
      if (telemetry.has_memory_free()) node.memory_free_bytes = telemetry.memory_free();
      if (telemetry.has_battery_level()) node.battery_percent = 100 * telemetry.battery_level();
      if (telemetry.has_battery_celsius()) node.temperature_c = telemetry.battery_celsius();
    }
    for (const auto& line : coordinator_.lines().lines()) ShowStage(*line, node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Status ClusterStatus::Drain(NodeId node) { return coordinator_.Drain(node, true); }

// On disk first: a head that restarts must not let it in again.
Status ClusterStatus::Evict(NodeId node) {
  SHOAL_RETURN_IF_ERROR(directory_.Revoke(node));
  SHOAL_ASSIGN_OR_RETURN(const std::set<std::uint64_t> revoked, directory_.RevokedSerials());
  network_.SetRevoked(revoked);
  coordinator_.Revoke(node, revoked);
  return {};
}

Status ClusterStatus::Label(NodeId node, const std::string& label) {
  return directory_.SetLabels(
      node, label.empty() ? std::vector<std::string>() : std::vector<std::string>{label});
}

}  // namespace shoal
