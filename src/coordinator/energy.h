// EnergyLedger: what the nodes of a cluster take, and for which answers.
//
// A node's power is known at moments: those of its telemetry. Between two of them the ledger takes
// the trapezoid; if they are further apart than kGapMax, nobody knows, and nothing is counted.
//
// While rows of answers are on their way through a pipeline, the energy of its nodes is those
// answers', divided by their rows: a node that waits for the stage before it is on because of them,
// too. At other times a node's energy is its own: idle, and shown as that.
//
// Power that is unknown counts nothing, and says so: an answer knows which share of the work (rows
// times layers) was done by nodes whose power was known.
//
// A plain value: it is told what happened, and when, in the order in which it did.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/node_id.h"
#include "base/time.h"
#include "pipeline/answers.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

struct Power {
  double watts = 0;
  bool estimated = false;  // Nothing measures it: somebody said so.
};

// What was taken in some time, and for what.
struct Consumption {
  double joules = 0;
  double idle = 0;              // Of these, for no answer.
  bool estimated = false;       // Some of the joules were not measured, …
  bool used_estimated = false;  // … and some of those for answers.
  std::uint64_t tokens = 0;     // Drawn for answers.
  double work = 0;              // Rows times layers, …
  double work_covered = 0;      // … by nodes whose power was known.

  // What answers took. Nothing: too little is known.
  std::optional<double> PerToken() const;
};

struct NodeEnergy {
  std::optional<Power> power;  // What it last said; nothing: unknown.
  // Tokens are those of answers that it served, while its power was known.
  Consumption today;
  Consumption total;  // Since the ledger began.
};

// What energy means for people. What nobody told is absent.
struct Tariff {
  std::optional<double> grams_per_kwh;  // CO2e of the grid.
  std::optional<double> price_per_kwh;
  std::string currency;

  std::optional<double> Grams(double joules) const;
  std::optional<double> Price(double joules) const;
};

constexpr double ToWattHours(double joules) { return joules / 3600; }

class EnergyLedger {
 public:
  // Nodes tell every half second, and are out after three of silence.
  static constexpr Duration kGapMax = std::chrono::seconds(5);
  // No device that anybody would call a node takes more; sensors that say so are broken.
  static constexpr double kWattsMax = 1000;
  static constexpr std::size_t kDaysKept = 31;

  // What a node takes at `at`. Nothing, or a number that no device takes: unknown from the last
  // time on. `day`: any number that changes at midnight, and grows.
  void OnPower(NodeId node, std::optional<Power> power, Instant at, std::int64_t day);

  // An answer begins, or goes on with what it has taken already. REQUIRES: it is not open.
  void Open(std::uint64_t answer, const pipeline::AnswerEnergy& before);
  // What it has taken until `now`. REQUIRES: it is open.
  pipeline::AnswerEnergy Of(std::uint64_t answer, Instant now) const;
  // What it takes from now on is nobody's; its figure stays what Of said last.
  void Close(std::uint64_t answer) { answers_.erase(answer); }

  // Rows begin their way through a pipeline in which `node` holds so many layers; and end it.
  // Every OnBack is for one OnSent. Rows of answers that are not open count for nobody.
  void OnSent(NodeId node, std::span<const pipeline::SequenceRows> rows, Instant at);
  void OnBack(NodeId node, std::span<const pipeline::SequenceRows> rows, std::size_t layers,
              Instant at, std::int64_t day);
  // A token was drawn. REQUIRES: the answer is open.
  void OnToken(std::uint64_t answer, std::int64_t day);

  NodeEnergy OfNode(NodeId node, std::int64_t today) const;
  // Of all nodes, since the ledger began; and of the last kDaysKept days on which they did or took
  // something.
  Consumption OfAll() const;
  std::map<std::int64_t, Consumption> Days() const;

 private:
  struct Node {
    std::optional<Power> power;
    Instant read;                               // When it was told.
    Instant counted;                            // Until when `seconds` counts.
    std::map<std::uint64_t, std::size_t> rows;  // On their way now, by answer.
    std::size_t rows_sum = 0;
    std::map<std::uint64_t, double> seconds;  // Since `read`: each answer's share of the time.
    Consumption total;
    std::map<std::int64_t, Consumption> days;
  };
  struct Answer {
    pipeline::AnswerEnergy energy;
    std::set<NodeId> nodes;  // Those that its rows have passed.
  };

  static void CountTime(Node& node, Instant at);
  // Its share of the time since the node was read.
  static double SecondsOf(std::uint64_t answer, const Node& node, Instant now);
  static void Count(Node& node, const Consumption& more, std::int64_t day);
  // `power`: the mean since the node was read, so many seconds ago.
  void Settle(Node& node, const Power& power, double seconds, std::int64_t day);

  std::map<NodeId, Node> nodes_;
  std::map<std::uint64_t, Answer> answers_;
  // A token is drawn once, and every node has its own part in it.
  std::uint64_t tokens_ = 0;
  std::map<std::int64_t, std::uint64_t> tokens_of_days_;
};

}  // namespace shoal::coordinator
