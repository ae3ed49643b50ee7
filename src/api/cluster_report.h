// ClusterReport: the cluster at this moment, for those who watch it. What nobody knows is absent,
// never zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/health.h"
#include "base/node_id.h"
#include "base/work_rules.h"

namespace shoal::api {

// What was taken in some time, as far as anybody knows.
struct EnergySummary {
  std::optional<double> wh = {};
  std::optional<double> wh_idle = {};  // Of these, for no answer.
  std::optional<double> gco2e = {};
  std::optional<double> cost = {};
  bool estimated = false;  // Some of the Wh were not measured; grams and money are made of these.
  std::uint64_t tokens = 0;
  std::optional<double> joules_per_token = {};  // Of answers: without what was idle.
  bool joules_per_token_estimated = false;
  std::optional<double> covered = {};  // Share of the work that the figures cover.
};

struct NodeSummary {
  NodeId id{};
  std::string label = {};
  std::string address = {};
  // "up", "draining", "resting", "down", and what else the head's rules know; with the reason, in
  // words, where there is one.
  std::string state = {};
  std::string reason = {};
  WorkRules rules = {};                     // What an operator said about it.
  std::optional<std::size_t> replica = {};  // The pipeline that it serves, if one …
  std::optional<std::size_t> answers = {};  // … and how many answers run there.
  std::size_t layer_begin = 0;
  std::size_t layer_end = 0;  // One past the last; equal to layer_begin: it has none.
  std::optional<double> rows_per_second = {};  // Through all of its layers, lately.
  std::optional<double> cpu_share = {};        // 0 to 1, by everybody.
  std::optional<std::uint64_t> memory_offered_bytes = {};
  std::optional<std::uint64_t> memory_free_bytes = {};
  std::optional<double> memory_pressure = {};  // Share of time in which somebody waited for it.
  std::optional<double> battery_percent = {};
  std::optional<double> temperature_c = {};
  std::optional<bool> charging = {};
  std::optional<double> throttle = {};       // What a step takes against its own best.
  std::optional<double> slowness = {};       // The same against what it promised.
  std::optional<double> round_trip_ms = {};  // To the head and back.
  std::optional<double> heard_seconds = {};  // How long ago.
  std::size_t arrivals = 0;                  // In the last ten minutes.
  std::vector<std::string> doubts = {};      // Sensors that it does not believe, and why.
  std::optional<double> watts = {};
  bool watts_estimated = false;
  EnergySummary today = {};
  EnergySummary total = {};  // Since the head was started.
};

struct StageSummary {
  NodeId node{};
  std::size_t layer_begin = 0;
  std::size_t layer_end = 0;
};

struct ReplicaSummary {
  std::size_t number = 0;
  std::string waiting = {};  // Why it does not answer; empty: it does.
  std::vector<StageSummary> stages = {};
  std::size_t answers = 0;
  double tokens_per_second = 0;                            // Of all answers, lately.
  std::optional<double> predicted_tokens_per_second = {};  // With one answer at a time, …
  std::optional<double> predicted_with_eight = {};         // … and with eight.
};

struct ClusterEnergySummary {
  std::optional<double> watts = {};  // Of those nodes that are here and whose power is known …
  bool watts_estimated = false;
  std::size_t nodes_known = 0;    // … which are so many …
  std::size_t nodes_unknown = 0;  // … and the others.
  bool head_counted = false;      // The head's own share is among the figures.
  EnergySummary today = {};
  EnergySummary total = {};  // Since the head was started.
  // By their dates: "2026-11-18". Those on which something is known, and the date of today.
  std::map<std::string, EnergySummary> days = {};
  std::string date = {};
  std::optional<double> grams_per_kwh = {};
  std::optional<double> price_per_kwh = {};
  std::string currency = {};
  std::optional<double> cost_per_million_tokens = {};
};

struct EventSummary {
  std::int64_t unix_time = 0;
  std::string text = {};
};

// Work that was computed again, to find phones that compute wrongly.
struct AuditSummary {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;
  std::uint64_t voided = 0;  // Rows or layers could not be had.
  double share = 0;          // Of all work.
};

struct ClusterReport {
  std::string model = {};
  std::size_t layers = 0;
  std::int64_t unix_time = 0;
  Health health = {};
  std::vector<NodeSummary> nodes = {};
  std::vector<ReplicaSummary> replicas = {};
  ClusterEnergySummary energy = {};
  std::optional<AuditSummary> audits = {};  // Nothing: there are none.
  std::vector<EventSummary> events = {};    // The oldest first.
};

}  // namespace shoal::api
