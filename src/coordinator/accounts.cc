#include "coordinator/accounts.h"

#include <algorithm>
#include <utility>

namespace shoal::coordinator {

Accounts::Accounts(const Clock& clock, AccountsOptions options)
    : clock_(clock), options_(std::move(options)) {
  Tick();
}

void Accounts::OnArrived(NodeId id) {
  Node& node = nodes_[id];
  node.left.reset();
  node.why_left.clear();
  node.arrivals.push_back(clock_.Now());
  if (node.arrivals.size() > kArrivalsMax) node.arrivals.pop_front();
}

void Accounts::OnLeft(NodeId id, const std::string& why) {
  Node& node = nodes_[id];
  node.left = clock_.Now();
  node.why_left = why;
  ledger_.OnPower(id, std::nullopt, *node.left, Today());
}

void Accounts::OnTelemetry(NodeId id, const wire::pb::Telemetry& telemetry) {
  std::optional<Power> power;
  if (telemetry.has_watts()) power = Power{telemetry.watts(), telemetry.watts_estimated()};
  ledger_.OnPower(id, power, clock_.Now(), Today());
}

void Accounts::Tick() {
  if (!options_.head_watts) return;
  ledger_.OnPower(kHeadNode, Power{*options_.head_watts, true}, clock_.Now(), Today());
}

void Accounts::Open(std::uint64_t answer, const pipeline::AnswerEnergy& before) {
  ledger_.Open(answer, before);
}

pipeline::AnswerEnergy Accounts::EnergyOf(std::uint64_t answer) const {
  return ledger_.Of(answer, clock_.Now());
}

void Accounts::OnSent(std::span<const pipeline::RouteStage> stages,
                      std::span<const pipeline::SequenceRows> rows) {
  const Instant now = clock_.Now();
  for (const pipeline::RouteStage& stage : stages) ledger_.OnSent(stage.node, rows, now);
  if (counts_head()) ledger_.OnSent(kHeadNode, rows, now);
}

void Accounts::OnBack(std::span<const pipeline::RouteStage> stages,
                      std::span<const pipeline::SequenceRows> rows) {
  const Instant now = clock_.Now();
  const std::int64_t today = Today();
  std::size_t sum = 0;
  for (const pipeline::SequenceRows& run : rows) sum += run.rows;
  for (const pipeline::RouteStage& stage : stages) {
    const auto layers = static_cast<std::size_t>(stage.range.end - stage.range.first);
    ledger_.OnBack(stage.node, rows, layers, now, today);
    nodes_[stage.node].rows.Add(static_cast<double>(sum), now);
  }
  if (counts_head()) ledger_.OnBack(kHeadNode, rows, 0, now, today);
}

NodeAccount Accounts::Of(NodeId id) const {
  NodeAccount account;
  account.energy = ledger_.OfNode(id, Today());
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return account;
  const Node& node = found->second;
  const Instant now = clock_.Now();
  account.rows_per_second = node.rows.PerSecond(now);
  account.arrivals =
      static_cast<std::size_t>(std::count_if(node.arrivals.begin(), node.arrivals.end(),
                                             [&](Instant at) { return now - at <= kArrivalsFor; }));
  account.left = node.left;
  account.why_left = node.why_left;
  return account;
}

}  // namespace shoal::coordinator
