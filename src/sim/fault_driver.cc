#include "sim/fault_driver.h"

#include <algorithm>
#include <vector>

#include "base/node_id.h"
#include "sim/world.h"

namespace shoal::sim {
namespace {

constexpr double kHourNanoseconds = 3600e9;
// Bounds what an absurd rate costs: one kind strikes a thousand times a second at most.
constexpr Duration kBetweenFaultsMin = std::chrono::milliseconds(1);

}  // namespace

void FaultDriver::Start() {
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) ScheduleNext(static_cast<FaultKind>(kind));
}

double FaultDriver::PerHour(FaultKind kind) const {
  const auto nodes = static_cast<double>(world_.nodes().size());
  switch (kind) {
    case FaultKind::kDisconnect:
      return faults_.disconnects_per_node_hour * nodes;
    case FaultKind::kPartition:
      return faults_.partitions_per_hour;
    case FaultKind::kCrash:
      return faults_.crashes_per_node_hour * nodes;
    case FaultKind::kHang:
      return faults_.hangs_per_node_hour * nodes;
    case FaultKind::kSlowdown:
      return faults_.slowdowns_per_node_hour * nodes;
  }
  return 0;
}

Duration FaultDriver::DrawDuration(Duration mean) {
  return Duration(
      static_cast<std::int64_t>(random_.Exponential(static_cast<double>(mean.count()))));
}

void FaultDriver::ScheduleNext(FaultKind kind) {
  const double rate = PerHour(kind);
  if (rate <= 0) return;
  // A rate of less than one in a million hours is none within any run.
  const double mean = kHourNanoseconds / std::max(rate, 1e-6);
  const Duration wait = DrawDuration(Duration(static_cast<std::int64_t>(mean)));
  queue_.Push({.at = queue_.now() + std::max(wait, kBetweenFaultsMin),
               .kind = EventKind::kFault,
               .detail = static_cast<std::uint8_t>(kind)});
}

void FaultDriver::Handle(const Event& event) {
  const auto kind = static_cast<FaultKind>(event.detail);
  if (event.kind == EventKind::kRepair) return Repair(kind, event.subject);
  if (stopped_) return;
  Strike(kind);
  ScheduleNext(kind);
}

void FaultDriver::Strike(FaultKind kind) {
  const std::vector<NodeId>& nodes = world_.nodes();
  const auto victim = static_cast<std::size_t>(random_.Below(nodes.size()));
  switch (kind) {
    case FaultKind::kDisconnect:
      return world_.ResetOneLink(nodes[victim], random_);
    case FaultKind::kPartition:
      return Split();
    case FaultKind::kCrash:
      if (!world_.IsRunning(nodes[victim])) return;
      world_.Crash(nodes[victim],
                   random_.Chance(faults_.power_loss) ? Death::kPowerLoss : Death::kKilled);
      return ScheduleRepair(kind, victim, faults_.restart_mean);
    case FaultKind::kHang:
      if (!world_.IsRunning(nodes[victim])) return;
      world_.Freeze(nodes[victim]);
      return ScheduleRepair(kind, victim, faults_.hang_mean);
    case FaultKind::kSlowdown:
      world_.SlowDown(nodes[victim], faults_.slowdown_factor);
      return ScheduleRepair(kind, victim, faults_.slowdown_mean);
  }
}

void FaultDriver::Split() {
  if (world_.IsSplit()) return;
  // The smaller side is anything from one phone to half of the cluster.
  const std::vector<NodeId>& nodes = world_.nodes();
  const double share = random_.Unit() / 2;
  std::vector<NodeId> island = {nodes[random_.Below(nodes.size())]};
  for (const NodeId node : nodes) {
    if (random_.Chance(share)) island.push_back(node);
  }
  world_.Split(island);
  ScheduleRepair(FaultKind::kPartition, 0, faults_.partition_mean);
}

void FaultDriver::ScheduleRepair(FaultKind kind, std::size_t victim, Duration mean) {
  queue_.Push({.at = queue_.now() + DrawDuration(mean),
               .subject = static_cast<std::uint32_t>(victim),
               .kind = EventKind::kRepair,
               .detail = static_cast<std::uint8_t>(kind)});
}

void FaultDriver::Repair(FaultKind kind, std::size_t victim) {
  // Faults overlap: a repair may find its victim repaired, or end a later mishap early.
  const NodeId node = world_.nodes()[victim];
  switch (kind) {
    case FaultKind::kDisconnect:
      return;
    case FaultKind::kPartition:
      return world_.Rejoin();
    case FaultKind::kCrash:
      return world_.Restart(node);
    case FaultKind::kHang:
      return world_.Thaw(node);
    case FaultKind::kSlowdown:
      return world_.SlowDown(node, 1);
  }
}

}  // namespace shoal::sim
