// How near the planner comes to the best plan there is, and how long it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>

#include "base/random.h"
#include "pipeline/plan_case_for_test.h"
#include "pipeline/planner.h"

namespace shoal::pipeline {
namespace {

using Case = PlanCase;

std::uint64_t Whole(Random& random, std::uint64_t low, std::uint64_t high) {
  return low + random.Below(high - low + 1);
}

// 1 to 5 phones and 1 to 8 layers: alike or not, tight or not, with some pairs measured or none.
Case RandomCase(std::uint64_t seed, Objective objective) {
  Random random(seed);
  Case c;
  const bool alike = random.Chance(0.5);
  const std::uint64_t layers = Whole(random, 1, 8);
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < layers; ++i) {
    LayerCost layer{.weight_bytes = Whole(random, 20, 120) * 1'000'000,
                    .row_bytes = 0,
                    .multiply_adds = 0,
                    .kv_bytes_per_position = 2048};
    if (random.Chance(0.2)) layer.row_bytes = layer.weight_bytes / 4;
    if (alike && i > 0) layer = c.model.layers.front();
    layer.multiply_adds = static_cast<double>(layer.weight_bytes) * 2;
    c.model.layers.push_back(layer);
    all += layer.weight_bytes;
  }
  c.model.output = {
      .weight_bytes = 50'000'000, .row_bytes = 0, .multiply_adds = 1e8, .kv_bytes_per_position = 0};
  c.model.positions = 4096;
  c.model.dim = 2048;
  c.cluster.head = {.weight_bytes_per_second = 20e9, .operations_per_second = 400e9};
  const std::uint64_t nodes = Whole(random, 1, 5);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    PlanNode node;
    node.id = NodeId{i + 2};
    node.memory_bytes =
        static_cast<std::uint64_t>(static_cast<double>(all) * (0.2 + 1.2 * random.Unit()));
    node.speeds.weight_bytes_per_second = 2e9 + 18e9 * random.Unit();
    node.speeds.operations_per_second = 20e9 + 300e9 * random.Unit();
    node.latency = 0.0002 + 0.006 * random.Unit();
    node.link_bytes_per_second = random.Chance(0.3) ? 0 : 2e6 + 100e6 * random.Unit();
    c.cluster.nodes.push_back(node);
  }
  if (random.Chance(0.5)) {
    for (std::uint64_t a = 0; a < nodes; ++a) {
      for (std::uint64_t b = a + 1; b < nodes; ++b) {
        if (random.Chance(0.6)) {
          c.cluster.links.push_back({NodeId{a + 2}, NodeId{b + 2}, 0.012 * random.Unit()});
        }
      }
    }
  }
  c.wish.slack = 0;  // Nothing but the objective.
  c.wish.objective = objective;
  c.wish.users = Whole(random, 1, 8);
  c.wish.prompt = Whole(random, 1, 600);
  return c;
}

// All pipelines there can be: every subset, order and cut.
class BruteForce {
 public:
  explicit BruteForce(const Case& c) : case_(c), costs_(c.model, c.cluster) {
    const std::size_t sets = std::size_t{1} << costs_.nodes();
    rates_.assign(sets, std::vector<double>(c.wish.users + 1, -1));
    Extend(0, 0);
  }

  // Seconds for one pipeline.
  double best() const { return best_; }

  // Tokens/s of any number of pipelines side by side.
  double BestRate() const {
    const std::size_t users = case_.wish.users;
    std::vector<std::vector<double>> most(rates_.size(), std::vector<double>(users + 1, -1e18));
    for (std::size_t set = 0; set < rates_.size(); ++set) {
      most[set][0] = 0;
      for (std::size_t part = set; part > 0; part = (part - 1) & set) {
        for (std::size_t u = 1; u <= users; ++u) {
          for (std::size_t own = 1; own <= u; ++own) {
            if (rates_[part][own] < 0) continue;
            most[set][u] = std::max(most[set][u], rates_[part][own] + most[set ^ part][u - own]);
          }
        }
      }
    }
    return most.back()[users];
  }

 private:
  void Extend(std::int64_t done, std::size_t set) {
    const auto layers = static_cast<std::int64_t>(costs_.layers());
    if (done == layers) return Judge(set);
    for (std::size_t node = 0; node < costs_.nodes(); ++node) {
      if ((set >> node & 1U) != 0) continue;
      for (std::int64_t end = done + 1; end <= layers; ++end) {
        if (costs_.Bytes({done, end}) > case_.cluster.nodes[node].memory_bytes) break;
        stages_.push_back({node, {done, end}});
        Extend(end, set | std::size_t{1} << node);
        stages_.pop_back();
      }
    }
  }

  void Judge(std::size_t set) {
    const PlanWish& wish = case_.wish;
    if (wish.objective == Objective::kTimePerToken) {
      best_ = std::min(best_, costs_.SecondsPerToken(stages_));
    } else if (wish.objective == Objective::kFirstToken) {
      best_ = std::min(best_, costs_.FirstToken(stages_, wish.prompt, wish.chunk));
    } else {
      for (std::size_t u = 1; u <= wish.users; ++u) {
        rates_[set][u] = std::max(rates_[set][u], costs_.TokensPerSecond(stages_, u));
      }
      best_ = 0;
    }
  }

  const Case& case_;
  PlanCosts costs_;
  std::vector<PlacedStage> stages_;
  double best_ = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> rates_;
};

void CompareWithBruteForce(Objective objective) {
  double worst = 1;
  double sum = 0;
  int compared = 0;
  int impossible = 0;
  for (std::uint64_t seed = 1; compared < 200; ++seed) {
    const Case c = RandomCase(seed, objective);
    const BruteForce brute(c);
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    ASSERT_EQ(plan.ok(), std::isfinite(brute.best())) << "seed " << seed;
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), Code::kResourceExhausted);
      ++impossible;
      continue;
    }
    ExpectSound(c, *plan);
    const double ratio =
        objective == Objective::kThroughput
            ? brute.BestRate() / plan->tokens_per_second
            : *ObjectiveSeconds(c.model, c.cluster, c.wish, plan->replicas.front().stages) /
                  brute.best();
    EXPECT_LE(ratio, 1.05) << "seed " << seed << " users " << c.wish.users << " nodes "
                           << c.cluster.nodes.size() << " replicas " << plan->replicas.size()
                           << " links " << c.cluster.links.size();
    EXPECT_GE(ratio, 1 - 1e-6) << "seed " << seed;
    worst = std::max(worst, ratio);
    sum += ratio;
    ++compared;
  }
  std::cout << compared << " clusters (" << impossible << " too small): worst " << worst
            << " of the best, mean " << sum / compared << "\n";
}

TEST(Planner, TimePerTokenIsNearTheBest) { CompareWithBruteForce(Objective::kTimePerToken); }
TEST(Planner, FirstTokenIsNearTheBest) { CompareWithBruteForce(Objective::kFirstToken); }
TEST(Planner, ThroughputIsNearTheBest) { CompareWithBruteForce(Objective::kThroughput); }

// A 70B model and a thousand phones.
Case LargeCase(Objective objective, bool measured_pairs) {
  Random random(7);
  Case c;
  c.model.layers.assign(80, {.weight_bytes = 480'000'000,
                             .row_bytes = 0,
                             .multiply_adds = 855e6,
                             .kv_bytes_per_position = 4096});
  c.model.layers.back().weight_bytes += 60'000'000;
  c.model.positions = 8192;
  c.model.dim = 8192;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    PlanNode node;
    node.id = NodeId{i + 2};
    node.memory_bytes = Whole(random, 500, 8000) * 1'000'000;
    node.speeds = {.weight_bytes_per_second = 4e9 + 16e9 * random.Unit(),
                   .operations_per_second = 40e9 + 200e9 * random.Unit()};
    node.latency = 0.0005 + 0.005 * random.Unit();
    node.link_bytes_per_second = 5e6 + 50e6 * random.Unit();
    c.cluster.nodes.push_back(node);
    if (measured_pairs && i > 0) {
      c.cluster.links.push_back({node.id, NodeId{i + 1}, 0.001 * random.Unit()});
    }
  }
  c.wish.objective = objective;
  c.wish.users = 64;
  return c;
}

TEST(Planner, AThousandNodesAndEightyLayers) {
  for (const Objective objective :
       {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
    for (const bool measured_pairs : {false, true}) {
      const Case c = LargeCase(objective, measured_pairs);
      const auto begin = std::chrono::steady_clock::now();
      const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      ASSERT_TRUE(plan.ok());
      ExpectSound(c, *plan);
      std::cout << "objective " << static_cast<int>(objective) << (measured_pairs ? ", pairs" : "")
                << ": " << took.count() << " s, " << plan->steps << " steps, "
                << plan->replicas.size() << " replicas, the first of "
                << plan->replicas.front().stages.size() << " stages, " << plan->spares.size()
                << " spares, " << plan->tokens_per_second << " tokens/s\n";
      // Sanitizers and busy machines are slow; steps are not.
      EXPECT_LE(plan->steps, 400'000'000U);
    }
  }
}

}  // namespace
}  // namespace shoal::pipeline
