#include "shoal/cluster_status.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "coordinator/caretaker.h"
#include "os/wall_clock.h"

namespace shoal {
namespace {

using coordinator::CareState;

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

// What nodes say is a number only if it is one.
std::optional<double> Finite(bool known, double value) {
  if (!known || !std::isfinite(value)) return std::nullopt;
  return value;
}

void ShowMember(const coordinator::Member& member, Instant now, api::NodeSummary& node) {
  node.state = member.draining ? "draining" : (member.resting ? "resting" : "up");
  node.heard_seconds = ToSeconds(now - member.heard);
  node.address = member.hello.address();
  if (member.greeted) node.memory_offered_bytes = member.hello.memory_bytes();
  const wire::pb::Telemetry& told = member.telemetry;
  node.cpu_share = Finite(told.has_cpu_share(), told.cpu_share());
  if (told.has_memory_free()) node.memory_free_bytes = told.memory_free();
  node.memory_pressure = Finite(told.has_memory_pressure(), told.memory_pressure());
  node.battery_percent = Finite(told.has_battery_level(), 100 * told.battery_level());
  node.temperature_c = Finite(told.has_battery_celsius(), told.battery_celsius());
  if (told.has_charging()) node.charging = told.charging();
  node.throttle = Finite(told.has_throttle(), told.throttle());
  node.slowness = Finite(told.has_slowness(), told.slowness());
  for (const wire::pb::RoundTrip& trip : told.round_trips()) {
    if (NodeId{trip.node()} == kHeadNode) node.round_trip_ms = Finite(true, trip.milliseconds());
  }
  node.doubts = coordinator::PlainDoubts(told);
}

void ShowCare(const coordinator::Member& member, const coordinator::CareVerdict& verdict,
              api::NodeSummary& node) {
  if (member.draining || member.resting) {
    node.reason = verdict.why;
  } else if (verdict.state != CareState::kFree) {
    node.state = "throttled";
    node.reason = verdict.why;
  }
}

api::EnergySummary Summarize(const coordinator::Consumption& taken,
                             const coordinator::Tariff& tariff) {
  api::EnergySummary energy;
  if (taken.joules > 0) {  // Else nobody knows.
    energy.wh = coordinator::ToWattHours(taken.joules);
    energy.wh_idle = coordinator::ToWattHours(taken.idle);
    energy.gco2e = tariff.Grams(taken.joules);
    energy.cost = tariff.Price(taken.joules);
  }
  energy.estimated = taken.estimated;
  energy.tokens = taken.tokens;
  energy.joules_per_token = taken.PerToken();
  energy.joules_per_token_estimated = taken.used_estimated;
  if (taken.work > 0) energy.covered = taken.work_covered / taken.work;
  return energy;
}

void ShowAccount(const coordinator::NodeAccount& account, const coordinator::Tariff& tariff,
                 Instant now, api::NodeSummary& node) {
  if (node.state == "down" && account.left) {
    node.heard_seconds = ToSeconds(now - *account.left);
    node.reason = account.why_left;
  }
  if (node.layer_end > node.layer_begin) node.rows_per_second = account.rows_per_second;
  node.arrivals = account.arrivals;
  const coordinator::NodeEnergy& energy = account.energy;
  if (energy.power) {
    node.watts = energy.power->watts;
    node.watts_estimated = energy.power->estimated;
  }
  node.today = Summarize(energy.today, tariff);
  node.total = Summarize(energy.total, tariff);
}

api::ReplicaSummary Summarize(const coordinator::Line& line) {
  api::ReplicaSummary replica;
  replica.number = line.number();
  replica.answers = line.replica().size();
  if (!line.running()) {
    replica.waiting = line.formation().why_waiting();
    if (replica.waiting.empty()) replica.waiting = "it is being prepared";
    return replica;
  }
  for (const pipeline::RouteStage& stage : line.replica().route().stages) {
    replica.stages.push_back({.node = stage.node,
                              .layer_begin = static_cast<std::size_t>(stage.range.first),
                              .layer_end = static_cast<std::size_t>(stage.range.end)});
  }
  replica.tokens_per_second = line.TokensPerSecond();
  const pipeline::Prediction& predicted = line.formation().predicted();
  if (predicted.tokens_per_second_1 > 0) {
    replica.predicted_tokens_per_second = predicted.tokens_per_second_1;
    replica.predicted_with_eight = predicted.tokens_per_second_8;
  }
  return replica;
}

std::string Date(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace

api::Health ClusterStatus::GetHealth() const {
  const auto& lines = coordinator_.lines().lines();
  return {.waiting = coordinator_.why_waiting(),
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
    node.rules = record.rules;
    node.state = "down";
    if (const auto found = here.find(record.id); found != here.end()) {
      ShowMember(found->second, clock_.Now(), node);
      ShowCare(found->second, coordinator_.VerdictOn(record.id), node);
    }
    for (const auto& line : coordinator_.lines().lines()) ShowStage(*line, node);
    ShowAccount(coordinator_.accounts().Of(record.id), options_.tariff, clock_.Now(), node);
    if (const auto found = coordinator_.quarantined().find(record.id);
        found != coordinator_.quarantined().end()) {
      node.state = "quarantined";
      node.reason = found->second;
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

api::ClusterReport ClusterStatus::Report() const {
  api::ClusterReport report;
  report.model = options_.model;
  report.layers = options_.layers;
  report.unix_time = os::UnixNow();
  report.health = GetHealth();
  report.nodes = Nodes();
  for (const auto& line : coordinator_.lines().lines()) {
    report.replicas.push_back(Summarize(*line));
  }
  report.energy = Energy(report.nodes);
  if (options_.audited) {
    const coordinator::AuditTally tally = coordinator_.audits();
    report.audits = {.right = tally.right,
                     .wrong = tally.wrong,
                     .voided = tally.voided,
                     .share = tally.of_work > 0 ? tally.work / tally.of_work : 0};
  }
  for (const coordinator::Event& event : coordinator_.events().events()) {
    report.events.push_back({.unix_time = event.unix_time, .text = event.text});
  }
  return report;
}

api::ClusterEnergySummary ClusterStatus::Energy(const std::vector<api::NodeSummary>& nodes) const {
  const coordinator::Accounts& accounts = coordinator_.accounts();
  const coordinator::Tariff& tariff = options_.tariff;
  api::ClusterEnergySummary energy;
  const auto add = [&energy](double watts, bool estimated) {
    energy.watts = energy.watts.value_or(0) + watts;
    energy.watts_estimated = energy.watts_estimated || estimated;
  };
  for (const api::NodeSummary& node : nodes) {
    if (node.state == "down") continue;
    ++(node.watts ? energy.nodes_known : energy.nodes_unknown);
    if (node.watts) add(*node.watts, node.watts_estimated);
  }
  energy.head_counted = accounts.counts_head();
  if (const auto power = accounts.Of(kHeadNode).energy.power) add(power->watts, power->estimated);
  energy.total = Summarize(accounts.Total(), tariff);
  std::map<std::int64_t, coordinator::Consumption> days = accounts.Days();
  const std::int64_t today = accounts.Today();
  energy.date = Date(today);
  energy.today = Summarize(days[today], tariff);
  for (const auto& [day, taken] : days) {
    if (taken.joules > 0) energy.days[Date(day)] = Summarize(taken, tariff);
  }
  energy.grams_per_kwh = tariff.grams_per_kwh;
  energy.price_per_kwh = tariff.price_per_kwh;
  energy.currency = tariff.currency;
  constexpr double kMillion = 1e6;
  if (energy.total.joules_per_token) {
    energy.cost_per_million_tokens = tariff.Price(*energy.total.joules_per_token * kMillion);
  }
  return energy;
}

Status ClusterStatus::Drain(NodeId node, bool draining) {
  return coordinator_.Drain(node, draining);
}

// On disk first: a head that restarts must not let it in again.
Status ClusterStatus::Evict(NodeId node) {
  SHOAL_RETURN_IF_ERROR(directory_.Revoke(node));
  SHOAL_ASSIGN_OR_RETURN(const std::set<std::uint64_t> revoked, directory_.RevokedSerials());
  network_.SetRevoked(revoked);
  coordinator_.Revoke(node, revoked);
  return {};
}

// On disk first, as above.
Status ClusterStatus::Pardon(NodeId node) {
  SHOAL_RETURN_IF_ERROR(directory_.SetQuarantine(node, ""));
  coordinator_.Pardon(node);
  return {};
}

Status ClusterStatus::Label(NodeId node, const std::string& label) {
  return directory_.SetLabels(
      node, label.empty() ? std::vector<std::string>() : std::vector<std::string>{label});
}

Result<WorkRules> ClusterStatus::Rules(NodeId node) const {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<os::MemberRecord> known, directory_.Members());
  for (const os::MemberRecord& record : known) {
    if (record.id == node && !record.revoked) return record.rules;
  }
  return Status(Code::kNotFound, "node " + std::to_string(ToNumber(node)) + " is not a member");
}

// On disk first: what a head that restarts would forget must not hold.
Status ClusterStatus::SetRules(NodeId node, const WorkRules& rules) {
  SHOAL_RETURN_IF_ERROR(directory_.SetRules(node, rules));
  coordinator_.SetRules(node, rules);
  return {};
}

}  // namespace shoal
