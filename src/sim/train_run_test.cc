#include "sim/train_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::sim {
namespace {

// SHOAL_SEEDS=1000 for a night, SHOAL_SEED=17 for one of them with its transcript.
std::uint64_t NumberFromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

void Print(std::string_view line) { std::cout << line << "\n"; }

TEST(TrainRun, UndisturbedGivesWhatOneDeviceGives) {
  const TrainRunResult result = RunTraining({.seed = 1}, nullptr);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.steps, 60U);
  EXPECT_EQ(result.returned, 0U);
  EXPECT_EQ(result.rollbacks, 0U);
}

TEST(TrainRun, TheSameSeedIsTheSameRun) {
  const TrainRunOptions options = RandomTraining(7);
  EXPECT_EQ(RunTraining(options, nullptr).trace_hash, RunTraining(options, nullptr).trace_hash);
}

// One phone at a third of the speed: shares follow, and next to nothing is lost.
TEST(TrainRun, ASlowPhoneCostsLessThanATenth) {
  TrainRunOptions options{.seed = 3, .nodes = 4, .batch = 256, .steps = 100};
  options.records = 5000;
  options.keep_interval = 1000;
  options.duration = std::chrono::minutes(10);
  const double even = RunTraining(options, nullptr).samples_per_second;
  options.slow_nodes = 1;
  const TrainRunResult slow = RunTraining(options, nullptr);
  EXPECT_EQ(slow.failure, "");
  const double ideal = even * (3 + 1.0 / 3) / 4;
  std::cout << "of the ideal: " << slow.samples_per_second / ideal << "\n";
  EXPECT_GT(slow.samples_per_second, 0.9 * ideal);
}

// Flash that loses records between two looks costs the time to send them again, and nobody.
TEST(TrainRun, RecordsThatRotAreSentAgain) {
  TrainRunOptions options{.seed = 4, .nodes = 3, .rot = 0.01};
  std::string said;
  const TrainRunResult result =
      RunTraining(options, [&](std::string_view line) { said.append(line).append("\n"); });
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.steps, 60U);
  EXPECT_EQ(result.returned, 0U);
  EXPECT_EQ(said.find("is not here"), std::string::npos) << said;
}

// As a long period of local updates has: more than an executor queues.
TEST(TrainRun, AStepMayHaveAnyNumberOfParts) {
  TrainRunOptions options{.seed = 6, .nodes = 3, .steps = 3, .parts = 20'000};
  const TrainRunResult result = RunTraining(options, nullptr);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.steps, 3U);
}

// What they are is news, and the same whenever it is asked.
TEST(TrainRun, LinksAreMeasuredWithinASecond) {
  TrainRunOptions options{.seed = 5, .nodes = 6, .measure_links = true};
  options.link.bits_per_second = 100e6;
  std::vector<std::string> news;
  const TrainRunResult result = RunTraining(options, [&](std::string_view line) {
    if (line.find("measured in") != line.npos || line.find("add up") != line.npos) {
      news.emplace_back(line);
    }
  });
  EXPECT_EQ(result.failure, "");
  ASSERT_EQ(news.size(), 2U);
  EXPECT_NE(news[0].find("links of 15 pairs"), std::string::npos) << news[0];
  EXPECT_NE(news[0].find("measured in 0."), std::string::npos) << news[0];
  EXPECT_NE(news[1].find("6 nodes "), std::string::npos) << news[1];
  std::cout << news[0] << "\n" << news[1] << "\n";
  EXPECT_EQ(RunTraining(options, nullptr).trace_hash, result.trace_hash);
}

TEST(TrainRun, Seeds) {
  const std::uint64_t one = NumberFromEnvironment("SHOAL_SEED", 0);
  const std::uint64_t first = one != 0 ? one : 1;
  const std::uint64_t count =
      one != 0 ? 1 : NumberFromEnvironment("SHOAL_SEEDS", SHOAL_TRAINING_SEEDS);
  TrainRunResult sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const TrainRunResult result =
        RunTraining(RandomTraining(seed), one != 0 ? Print : Trace::Line());
    ASSERT_EQ(result.failure, "") << "seed " << seed << ": SHOAL_SEED=" << seed
                                  << " sim_train_test --gtest_filter=TrainRun.Seeds";
    sum.steps += result.steps;
    sum.epochs += result.epochs;
    sum.returned += result.returned;
    sum.rollbacks += result.rollbacks;
    sum.head_restarts += result.head_restarts;
  }
  std::cout << count << " trainings: " << sum.steps << " steps, " << sum.epochs << " epochs, "
            << sum.returned << " samples returned, " << sum.rollbacks
            << " rollbacks, head restarted " << sum.head_restarts << " times\n";
}

}  // namespace
}  // namespace shoal::sim
