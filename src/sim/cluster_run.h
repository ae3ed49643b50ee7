// RunCluster: a seeded cluster of phones that serves a toy model with the production code while
// everything breaks: phones die, hang, slow down, come back, are cut off; so does the head. With a
// verdict.
//
//   safety    every answer has exactly the tokens that one device gives, each told once and in
//             order; in one epoch, which is one pipeline's, every layer has one owner, and no
//             node serves two pipelines;
//   liveness  when everything has healed, every accepted answer is complete within kAnswersLimit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/probe.h"
#include "base/time.h"
#include "pipeline/planner.h"
#include "sim/faults.h"
#include "sim/models.h"
#include "sim/toy_model.h"
#include "sim/trace.h"
#include "sim/world.h"

namespace shoal::sim {

struct ClusterQuestion {
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> answer;  // What one device says.
};

// Prompts and answers of 32 tokens or more.
std::vector<ClusterQuestion> MakeQuestions(const ToyModel& model, std::size_t count,
                                           std::uint64_t seed);

struct ClusterRunOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 8;                             // Beside the head, which is node 1.
  std::uint64_t node_bytes = std::uint64_t{1} << 30U;  // Memory of each.
  // As in pipeline::PlanWish.
  pipeline::Objective objective = pipeline::Objective::kTimePerToken;
  std::size_t stages = 0;
  std::size_t replicas_max = 0;
  std::size_t positions = 4096;  // Of all answers of a pipeline.
  std::size_t questions = 6;
  Duration duration = std::chrono::seconds(20);  // Of the phase in which things break.
  double audit = 0;                              // Of all work; nobody here computes wrongly.
  bool isolated = false;                         // Nodes reach the head, and nobody else.
  PhoneModel phone{};                            // Every node, and what its profile promises.
  // The sensors of a node, made anew with its process. Empty: it has none.
  std::function<std::unique_ptr<agent::Probe>(const Surroundings&)> make_probe = {};
  Faults faults{};
};

// Some of everything, from the seed: 3 to 40 nodes.
ClusterRunOptions RandomCluster(std::uint64_t seed);

inline constexpr Duration kAnswersLimit = std::chrono::seconds(90);

struct ClusterRunResult {
  std::string failure;  // Empty: passed.
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t epochs = 0;
  std::uint64_t stages = 0;    // Of all epochs together.
  std::uint64_t replicas = 0;  // That ran at the same time, at most.
  std::uint64_t answers = 0;
  std::uint64_t answers_before_healing = 0;
  std::uint64_t head_restarts = 0;
  std::uint64_t balanced = 0;  // Times that layers moved because nodes were slower than promised.
  double seconds_to_heal = 0;
  std::set<std::string> waits;  // What those who waited were told.
};

ClusterRunResult RunCluster(const ClusterRunOptions& options, const ToyModel& model,
                            const std::vector<ClusterQuestion>& questions,
                            const Trace::Line& transcript);

}  // namespace shoal::sim
