#include <utility>

#include "api/cluster_json_internal.h"

namespace shoal::api {
namespace {

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json OrNull(const std::optional<double>& value) { return value ? Json(Rounded(*value)) : Json(); }

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json ToJsonObject(const ReplicaSummary& replica) {
  Json stages = Json::array();
  for (const StageSummary& stage : replica.stages) {
    stages.push_back({{"node", ToNumber(stage.node)},
                      {"layer_begin", stage.layer_begin},
                      {"layer_end", stage.layer_end}});
  }
  return {{"replica", replica.number},
          {"waiting", OrNull(replica.waiting)},
          {"stages", std::move(stages)},
          {"answers", replica.answers},
          {"tokens_per_second", Rounded(replica.tokens_per_second)},
          {"predicted_tokens_per_second", OrNull(replica.predicted_tokens_per_second)},
          {"predicted_with_eight", OrNull(replica.predicted_with_eight)}};
}

Json ToJsonObject(const EnergySummary& energy) {
  return {{"wh", OrNull(energy.wh)},
          {"wh_idle", OrNull(energy.wh_idle)},
          {"estimated", energy.estimated},
          {"gco2e", OrNull(energy.gco2e)},
          {"cost", OrNull(energy.cost)},
          {"tokens", energy.tokens},
          {"joules_per_token", OrNull(energy.joules_per_token)},
          {"joules_per_token_estimated", energy.joules_per_token_estimated},
          {"covered", OrNull(energy.covered)}};
}

Json ToJsonObject(const ClusterEnergySummary& energy) {
  Json days = Json::array();
  for (const auto& [date, taken] : energy.days) {
    days.push_back({{"date", date}});
    days.back().update(ToJsonObject(taken));
  }
  return {{"watts", OrNull(energy.watts)},
          {"watts_estimated", energy.watts_estimated},
          {"nodes_known", energy.nodes_known},
          {"nodes_unknown", energy.nodes_unknown},
          {"head_counted", energy.head_counted},
          {"estimated", energy.total.estimated},
          {"covered", OrNull(energy.total.covered)},
          {"tokens", energy.total.tokens},
          {"joules_per_token", OrNull(energy.total.joules_per_token)},
          {"joules_per_token_estimated", energy.total.joules_per_token_estimated},
          {"wh_today", OrNull(energy.today.wh)},
          {"wh_idle_today", OrNull(energy.today.wh_idle)},
          {"wh_today_estimated", energy.today.estimated},
          {"wh_total", OrNull(energy.total.wh)},
          {"wh_idle_total", OrNull(energy.total.wh_idle)},
          {"today", OrNull(energy.date)},
          {"days", std::move(days)},
          {"grams_per_kwh", OrNull(energy.grams_per_kwh)},
          {"gco2e_today", OrNull(energy.today.gco2e)},
          {"gco2e_total", OrNull(energy.total.gco2e)},
          {"price_per_kwh", OrNull(energy.price_per_kwh)},
          {"currency", OrNull(energy.currency)},
          {"cost_today", OrNull(energy.today.cost)},
          {"cost_per_million_tokens", OrNull(energy.cost_per_million_tokens)}};
}

Json ToJsonObject(const Health& health) {
  return {{"nodes", health.nodes},
          {"replicas", health.replicas},
          {"answers_running", health.answers_running},
          {"answers_waiting", health.answers_waiting},
          {"waiting", OrNull(health.waiting)}};
}

Json ToJsonObject(const WorkRules& rules) {
  return {{"duty", OrNull(rules.duty)},
          {"only_charging", OrNull(rules.only_charging)},
          {"hours", rules.hours ? Json(rules.hours->ToString()) : Json()},
          {"floor_percent", rules.floor ? Json(Rounded(100 * *rules.floor)) : Json()},
          {"trusted", OrNull(rules.trusted)}};
}

Json ToJsonObject(const AuditSummary& audits) {
  return {{"right", audits.right},
          {"wrong", audits.wrong},
          {"void", audits.voided},
          {"share", Rounded(audits.share)}};
}

}  // namespace

Json ToJsonObject(const NodeSummary& node) {
  return {{"id", ToNumber(node.id)},
          {"label", node.label},
          {"address", node.address},
          {"state", node.state},
          {"reason", OrNull(node.reason)},
          {"rules", ToJsonObject(node.rules)},
          {"replica", OrNull(node.replica)},
          {"answers", OrNull(node.answers)},
          {"layer_begin", node.layer_begin},
          {"layer_end", node.layer_end},
          {"rows_per_second", OrNull(node.rows_per_second)},
          {"cpu_share", OrNull(node.cpu_share)},
          {"memory_offered_bytes", OrNull(node.memory_offered_bytes)},
          {"memory_free_bytes", OrNull(node.memory_free_bytes)},
          {"memory_pressure", OrNull(node.memory_pressure)},
          {"battery_percent", OrNull(node.battery_percent)},
          {"temperature_c", OrNull(node.temperature_c)},
          {"charging", OrNull(node.charging)},
          {"throttle", OrNull(node.throttle)},
          {"slowness", OrNull(node.slowness)},
          {"round_trip_ms", OrNull(node.round_trip_ms)},
          {"heard_seconds", OrNull(node.heard_seconds)},
          {"arrivals", node.arrivals},
          {"doubts", node.doubts},
          {"watts", OrNull(node.watts)},
          {"watts_estimated", node.watts_estimated},
          {"joules_per_token", OrNull(node.total.joules_per_token)},
          {"joules_per_token_estimated", node.total.joules_per_token_estimated},
          {"wh_today", OrNull(node.today.wh)},
          {"wh_idle_today", OrNull(node.today.wh_idle)},
          {"wh_today_estimated", node.today.estimated},
          {"gco2e_today", OrNull(node.today.gco2e)},
          {"wh_total", OrNull(node.total.wh)},
          {"wh_total_estimated", node.total.estimated},
          {"gco2e_total", OrNull(node.total.gco2e)}};
}

Json ToJsonObject(const ClusterReport& report) {
  Json nodes = Json::array();
  for (const NodeSummary& node : report.nodes) nodes.push_back(ToJsonObject(node));
  Json replicas = Json::array();
  for (const ReplicaSummary& replica : report.replicas) replicas.push_back(ToJsonObject(replica));
  Json events = Json::array();
  for (const EventSummary& event : report.events) {
    events.push_back({{"time", event.unix_time}, {"text", event.text}});
  }
  return {{"model", report.model},
          {"layers", report.layers},
          {"time", report.unix_time},
          {"health", ToJsonObject(report.health)},
          {"nodes", std::move(nodes)},
          {"replicas", std::move(replicas)},
          {"energy", ToJsonObject(report.energy)},
          {"audits", report.audits ? ToJsonObject(*report.audits) : Json()},
          {"events", std::move(events)}};
}

}  // namespace shoal::api
