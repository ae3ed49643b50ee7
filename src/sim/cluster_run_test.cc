#include "sim/cluster_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace shoal::sim {
namespace {

struct Toy {
  Toy() : model(48, 64, 1), questions(MakeQuestions(model, 4, 1)) {}
  ToyModel model;
  std::vector<ClusterQuestion> questions;
};
const Toy& TheToy() {
  static const Toy toy;
  return toy;
}

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(ClusterRun, AnswersWhenNothingBreaks) {
  ClusterRunOptions options;
  options.nodes = 5;
  options.stages = 5;
  options.questions = 4;
  const ClusterRunResult result = RunCluster(options, TheToy().model, TheToy().questions, {});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.answers_before_healing, 4U);
}

TEST(ClusterRun, TheHeadPassesOnWhatNodesCannotSendEachOther) {
  ClusterRunOptions options;
  options.nodes = 4;
  options.questions = 2;
  options.isolated = true;
  options.stages = 4;
  options.duration = std::chrono::seconds(60);
  const ClusterRunResult result = RunCluster(options, TheToy().model, TheToy().questions, {});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.answers_before_healing, 2U);
}

TEST(ClusterRun, NodesThatSufficeForItMakeASecondPipeline) {
  ClusterRunOptions options;
  options.nodes = 7;
  options.stages = 3;
  options.questions = 4;
  const ClusterRunResult result = RunCluster(options, TheToy().model, TheToy().questions, {});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.replicas, 2U);
  EXPECT_EQ(result.answers_before_healing, 4U);
}

// Phones take 5 ms for a layer, and one after the other four times as long, for minutes.
TEST(ClusterRun, LayersLeaveAPhoneThatGetsSlow) {
  std::uint64_t balanced = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ClusterRunOptions options;
    options.seed = seed;
    options.nodes = 6;
    options.stages = 6;
    options.replicas_max = 1;
    options.questions = 4;
    options.duration = std::chrono::seconds(60);
    options.phone.bytes_per_second = 10e6;
    options.faults.slowdowns_per_node_hour = 30;
    options.faults.slowdown_mean = std::chrono::minutes(10);
    const ClusterRunResult result = RunCluster(options, TheToy().model, TheToy().questions, {});
    EXPECT_EQ(result.failure, "") << "seed " << seed;
    EXPECT_LE(result.balanced, 3 * options.nodes);
    balanced += result.balanced;
  }
  EXPECT_GE(balanced, 3U);
  std::cout << "layers moved " << balanced << " times\n";
}

// SHOAL_SEED=17 replays one seed, with what happened; SHOAL_SEEDS=1000 runs as many.
TEST(ClusterRun, AnswersAreRightWhateverBreaks) {
  const std::uint64_t one = FromEnvironment("SHOAL_SEED", 0);
  const std::uint64_t last = one != 0 ? one : FromEnvironment("SHOAL_SEEDS", SHOAL_CLUSTER_SEEDS);
  std::uint64_t epochs = 0;
  std::uint64_t stages = 0;
  std::uint64_t restarts = 0;
  std::uint64_t with_replicas = 0;
  std::uint64_t balanced = 0;
  double slowest = 0;
  for (std::uint64_t seed = one != 0 ? one : 1; seed <= last; ++seed) {
    const ClusterRunOptions options = RandomCluster(seed);
    Trace::Line line;
    if (one != 0) line = [](std::string_view text) { std::cout << text << "\n"; };
    const ClusterRunResult result = RunCluster(options, TheToy().model, TheToy().questions, line);
    ASSERT_EQ(result.failure, "") << "replay: SHOAL_SEED=" << seed
                                  << " sim_cluster_test --gtest_filter=*Whatever*";
    epochs += result.epochs;
    stages += result.stages;
    with_replicas += result.replicas > 1 ? 1 : 0;
    restarts += result.head_restarts;
    balanced += result.balanced;
    slowest = std::max(slowest, result.seconds_to_heal);
  }
  std::cout << last << " seeds, " << epochs << " epochs of " << stages / epochs << " stages, "
            << with_replicas << " with replicas, the head restarted " << restarts
            << " times, layers moved from slow nodes " << balanced << " times, slowest healing "
            << slowest << " s\n";
}

}  // namespace
}  // namespace shoal::sim
