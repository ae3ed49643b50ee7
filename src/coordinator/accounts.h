// Accounts: what nodes have done and taken: rows a second, energy, and how often they came and
// went. Knows nothing that a decision needs; it is for those who look at the cluster.
//
// Belongs to one event loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/node_id.h"
#include "base/time.h"
#include "coordinator/energy.h"
#include "coordinator/rate_meter.h"
#include "pipeline/answers.h"
#include "pipeline/replica.h"
#include "wire/control.h"

namespace shoal::coordinator {

struct AccountsOptions {
  // Days by the wall clock of the place, as a number that grows. Absent: there is only one day.
  std::function<std::int64_t()> local_day;
  // What the head itself takes, as its owner says; it computes for every answer, too. Nothing:
  // nobody knows, and figures are without it.
  std::optional<double> head_watts;
};

struct NodeAccount {
  double rows_per_second = 0;  // That it computed lately, through all of its layers.
  std::size_t arrivals = 0;    // In the last kArrivalsFor.
  // Since when and why it is not here; absent: it is, or never was.
  std::optional<Instant> left;
  std::string why_left;
  NodeEnergy energy;
};

class Accounts final : public pipeline::FlightWatcher {
 public:
  // A phone that comes and goes does so more than once in this time.
  static constexpr Duration kArrivalsFor = std::chrono::minutes(10);

  // `clock` outlives it.
  Accounts(const Clock& clock, AccountsOptions options);

  void OnArrived(NodeId node);
  void OnLeft(NodeId node, const std::string& why);
  void OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry);
  // To be called some times a second.
  void Tick();

  // As in EnergyLedger.
  void Open(std::uint64_t answer, const pipeline::AnswerEnergy& before);
  void Close(std::uint64_t answer) { ledger_.Close(answer); }
  void OnToken(std::uint64_t answer) { ledger_.OnToken(answer, Today()); }
  pipeline::AnswerEnergy EnergyOf(std::uint64_t answer) const;

  void OnSent(std::span<const pipeline::RouteStage> stages,
              std::span<const pipeline::SequenceRows> rows) override;
  void OnBack(std::span<const pipeline::RouteStage> stages,
              std::span<const pipeline::SequenceRows> rows) override;

  NodeAccount Of(NodeId node) const;
  // As in EnergyLedger: of all nodes.
  Consumption Total() const { return ledger_.OfAll(); }
  std::map<std::int64_t, Consumption> Days() const { return ledger_.Days(); }
  std::int64_t Today() const { return options_.local_day ? options_.local_day() : 0; }
  // Whether the head's own energy is among the figures.
  bool counts_head() const { return options_.head_watts.has_value(); }

 private:
  // A node that comes and goes all day does so in vain: nobody counts further.
  static constexpr std::size_t kArrivalsMax = 100;
  struct Node {
    RateMeter rows;
    std::deque<Instant> arrivals;
    std::optional<Instant> left;
    std::string why_left;
  };

  const Clock& clock_;
  const AccountsOptions options_;
  EnergyLedger ledger_;
  std::map<NodeId, Node> nodes_;
};

}  // namespace shoal::coordinator
