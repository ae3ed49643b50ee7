#include "train/cluster/crew.h"

#include <algorithm>

#include "wire/enrol.h"

namespace shoal::train {
namespace {

// More than any device that trains with us takes.
constexpr double kWattsMax = 100'000;

}  // namespace

Mate& Crew::Add(NodeId node, const wire::pb::NodeHello& hello) {
  Mate& mate = mates_[node];
  mate = {};
  if (wire::IsPlainText(hello.name())) mate.name = hello.name();
  mate.address = hello.address();
  return mate;
}

Mate* Crew::Find(NodeId node) {
  const auto found = mates_.find(node);
  return found == mates_.end() ? nullptr : &found->second;
}

std::string Crew::NameOf(NodeId node) const {
  const auto found = mates_.find(node);
  if (found != mates_.end() && !found->second.name.empty()) return found->second.name;
  return "node " + std::to_string(ToNumber(node));
}

void Crew::OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry) {
  Mate* mate = Find(node);
  if (mate == nullptr) return;
  Condition condition;
  if (telemetry.has_battery_level()) condition.battery_level = telemetry.battery_level();
  if (telemetry.has_battery_amperes()) condition.charging = telemetry.battery_amperes() >= 0;
  if (telemetry.has_battery_celsius()) condition.battery_celsius = telemetry.battery_celsius();
  mate->factor = WorkFactor(condition, mate->factor);
  mate->watts.reset();
  if (telemetry.watts() > 0 && telemetry.watts() <= kWattsMax) mate->watts = telemetry.watts();
  mate->watts_estimated = telemetry.watts_estimated();
}

Result<std::map<NodeId, std::int64_t>> Crew::Deal(std::int64_t batch, Instant now) {
  // A learner cuts what does not fit at once into pieces: memory is no limit here.
  constexpr std::int64_t kSamplesMax = std::int64_t{1} << 40U;
  std::vector<Device> devices;
  for (const auto& [node, mate] : mates_) {
    const bool able = mate.state == Mate::State::kReady || mate.state == Mate::State::kInStep;
    const auto conduct = conduct_.find(node);
    const bool banned = conduct != conduct_.end() && now < conduct->second.banned_until;
    if (!able || banned) continue;
    devices.push_back({.node = node,
                       .seconds_per_image = mate.speed.seconds_per_image(),
                       .samples_max = kSamplesMax,
                       .factor = mate.factor});
  }
  SHOAL_ASSIGN_OR_RETURN(shares_, RedealShares(shares_, devices, batch));
  std::map<NodeId, std::int64_t> result;
  for (const Share& share : shares_) result[share.node] = share.samples;
  return result;
}

std::vector<NodeId> Crew::In(Mate::State state) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, mate] : mates_) {
    if (mate.state == state) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace shoal::train
