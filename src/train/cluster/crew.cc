#include "train/cluster/crew.h"

#include <algorithm>
#include <utility>

#include "wire/enrol.h"

namespace shoal::train {
namespace {

// More than any device that trains with us takes.
constexpr double kWattsMax = 100'000;
constexpr Duration kBan = std::chrono::seconds(30);
constexpr unsigned kBanDoublesMax = 4;

}  // namespace

Mate& Crew::Add(NodeId node, const wire::pb::NodeHello& hello) {
  Mate& mate = mates_[node];
  mate = {};
  if (wire::IsPlainText(hello.name())) mate.name = hello.name();
  mate.address = hello.address();
  mate.wishes = wire::ReadWishes(hello.wishes());
  return mate;
}

Mate* Crew::Find(NodeId node) {
  const auto found = mates_.find(node);
  return found == mates_.end() ? nullptr : &found->second;
}

const Mate* Crew::Find(NodeId node) const {
  const auto found = mates_.find(node);
  return found == mates_.end() ? nullptr : &found->second;
}

std::string Crew::NameOf(NodeId node) const {
  const auto found = mates_.find(node);
  if (found != mates_.end() && !found->second.name.empty()) return found->second.name;
  return "node " + std::to_string(ToNumber(node));
}

Status Crew::OnReady(NodeId node, const wire::pb::TrainReady& ready) {
  const auto& buckets = ready.buckets();
  if (ready.shape() != shape_.fingerprint ||
      !std::equal(buckets.begin(), buckets.end(), shape_.buckets.begin(), shape_.buckets.end())) {
    return {Code::kInvalidArgument,
            "has built another network than the head: is it another version?"};
  }
  Mate& mate = mates_.at(node);
  mate.state = Mate::State::kReady;
  mate.samples_max = static_cast<std::int64_t>(
      std::min<std::uint64_t>(ready.samples_max(), std::uint64_t{1} << 30U));
  return {};
}

void Crew::OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry, Instant now) {
  Mate* mate = Find(node);
  if (mate == nullptr) return;
  Condition condition;
  if (telemetry.has_battery_level()) condition.battery_level = telemetry.battery_level();
  if (telemetry.has_charging()) {
    condition.charging = telemetry.charging();
  } else if (telemetry.has_battery_amperes()) {
    condition.charging = telemetry.battery_amperes() >= 0;
  }
  if (telemetry.has_battery_celsius()) condition.battery_celsius = telemetry.battery_celsius();
  conduct_[node].heat.Update(condition.battery_celsius, now);
  mate->charging = condition.charging;
  mate->off_charger.Update(
      condition.charging.value_or(false) ? Latch::Seen::kEnd : Latch::Seen::kBegin,
      now - mate->told_at);
  mate->told_at = now;
  mate->factor = WorkFactor(condition, mate->factor);
  mate->watts.reset();
  if (telemetry.watts() > 0 && telemetry.watts() <= kWattsMax) mate->watts = telemetry.watts();
  mate->watts_estimated = telemetry.watts_estimated();
}

double Crew::FactorOf(NodeId node, const Mate& mate, std::optional<int> minute) const {
  const auto conduct = conduct_.find(node);
  if (conduct != conduct_.end() && conduct->second.heat.hot()) return 0;
  const WorkRules& wishes = mate.wishes;
  // What does not say whether it charges does not.
  const bool charging = mate.charging.value_or(false) && !mate.off_charger.on();
  if (wishes.only_charging.value_or(false) && !charging) return 0;
  if (minute && wishes.hours && !wishes.hours->Contains(*minute)) return 0;
  return mate.factor;
}

Result<std::map<NodeId, std::int64_t>> Crew::Deal(std::int64_t batch, Instant now) {
  // A learner cuts what does not fit at once into pieces: memory is no limit here.
  constexpr std::int64_t kSamplesMax = std::int64_t{1} << 40U;
  const std::optional<int> minute = local_minute_ ? std::optional(local_minute_()) : std::nullopt;
  std::vector<Device> devices;
  for (const auto& [node, mate] : mates_) {
    const bool able = mate.state == Mate::State::kReady || mate.state == Mate::State::kInStep;
    const auto conduct = conduct_.find(node);
    const bool banned = conduct != conduct_.end() && now < conduct->second.banned_until;
    if (!able || banned) continue;
    devices.push_back({.node = node,
                       .seconds_per_image = mate.speed.seconds_per_image(),
                       .samples_max = kSamplesMax,
                       .factor = FactorOf(node, mate, minute)});
  }
  SHOAL_ASSIGN_OR_RETURN(shares_, RedealShares(shares_, devices, batch));
  std::map<NodeId, std::int64_t> result;
  for (const Share& share : shares_) result[share.node] = share.samples;
  return result;
}

void Crew::NoteQuarrel(NodeId a, NodeId b) {
  conduct_[a].quarrels.insert(b);
  conduct_[b].quarrels.insert(a);
}

NodeId Crew::MostToBlame(const std::map<NodeId, std::size_t>& accused) const {
  const auto blame = [this](const auto& entry) {
    const auto conduct = conduct_.find(entry.first);
    const std::size_t quarrels = conduct == conduct_.end() ? 0 : conduct->second.quarrels.size();
    return std::pair(quarrels, entry.second);
  };
  return std::max_element(accused.begin(), accused.end(),
                          [&](const auto& a, const auto& b) { return blame(a) < blame(b); })
      ->first;
}

Duration Crew::Ban(NodeId node, Instant now) {
  Conduct& conduct = conduct_[node];
  const Duration ban = kBan * (1U << std::min(conduct.bans++, kBanDoublesMax));
  conduct.banned_until = now + ban;
  return ban;
}

std::vector<NodeId> Crew::In(Mate::State state) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, mate] : mates_) {
    if (mate.state == state) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace shoal::train
