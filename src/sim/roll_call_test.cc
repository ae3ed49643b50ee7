// Goal: a run is a function of its options, on every platform; and the World keeps the
// promises of base/ whatever strikes.
#include "sim/roll_call.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::sim {
namespace {

using std::chrono::seconds;

RollCallOptions RandomOptions(std::uint64_t seed) {
  return {.seed = seed,
          .nodes = static_cast<std::uint32_t>(2 + seed % 40),
          .duration = seconds(60),
          .faults = RandomFaults(seed)};
}

RollCallResult RunToEnd(const RollCallOptions& options) {
  const Result<RollCallResult> result = RunRollCall(options, {});
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : RollCallResult{};
}

TEST(RollCallTest, TwoHundredSeedsOfRandomFaults) {
  std::uint64_t crashes = 0;
  std::uint64_t hangs = 0;
  std::uint64_t partitions = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RollCallOptions options = RandomOptions(seed);
    const RollCallResult result = RunToEnd(options);
    EXPECT_EQ(result.failure, "") << "replay: " << ReplayLine(options);
    crashes += result.crashes;
    hangs += result.hangs;
    partitions += result.partitions;
  }
  // The weather was bad enough to mean something.
  EXPECT_GT(crashes, 1000U);
  EXPECT_GT(hangs, 1000U);
  EXPECT_GT(partitions, 100U);
}

TEST(RollCallTest, TheSameSeedGivesTheSameTraceAndAnotherDoesNot) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::uint64_t hash = RunToEnd(RandomOptions(seed)).trace_hash;
    EXPECT_EQ(hash, RunToEnd(RandomOptions(seed)).trace_hash) << "seed " << seed;
    RollCallOptions other = RandomOptions(seed);
    other.seed += 1000;
    EXPECT_NE(hash, RunToEnd(other).trace_hash) << "seed " << seed;
  }
}

// The same on gcc, clang, x86-64 and aarch64. A change of the protocol, of the World or
// of Random changes them; then these are updated, on all platforms at once.
TEST(RollCallTest, TracesAreTheSameOnEveryPlatform) {
  EXPECT_EQ(RunToEnd(RandomOptions(37)).trace_hash, 0x0e2fa21052989512ULL);
  EXPECT_EQ(RunToEnd(RandomOptions(38)).trace_hash, 0x3a50812e2727e700ULL);
  EXPECT_EQ(RunToEnd(RandomOptions(39)).trace_hash, 0xfeb1401bf980e959ULL);
}

TEST(RollCallTest, TheTranscriptDoesNotChangeTheRun) {
  int lines = 0;
  const auto told = RunRollCall(RandomOptions(4), [&](std::string_view) { ++lines; });
  ASSERT_TRUE(told.ok());
  EXPECT_GT(lines, 10);
  EXPECT_EQ((*told).trace_hash, RunToEnd(RandomOptions(4)).trace_hash);
}

TEST(RollCallTest, ACalmClusterIsCompleteAtOnceAndStaysSo) {
  const RollCallResult result =
      RunToEnd({.seed = 1, .nodes = 50, .duration = seconds(60), .faults = {}});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.crashes, 0U);
  EXPECT_EQ(result.seconds_to_heal, 0);
}

TEST(RollCallTest, TenThousandPhones) {
  const RollCallOptions options = {
      .seed = 1,
      .nodes = 10'000,
      .duration = seconds(5),
      .faults = {.frame_loss = 0.001, .crashes_per_node_hour = 60, .restart_mean = seconds(1)}};
  const RollCallResult result = RunToEnd(options);
  EXPECT_EQ(result.failure, "") << "replay: " << ReplayLine(options);
  EXPECT_GT(result.crashes, 300U);
  // Per member and second two heartbeats with their timer and answer, and one job with its
  // timer and result, are nine; a model that needed an event per slice or keep-alive, or a
  // queue that forgot nothing, would show here.
  EXPECT_LT(static_cast<double>(result.events), 12.0 * 10'000 * result.virtual_seconds);
}

TEST(RollCallTest, TheReplayLineNamesWhatDiffers) {
  EXPECT_EQ(ReplayLine({.seed = 42,
                        .nodes = 50,
                        .duration = std::chrono::milliseconds(2500),
                        .faults = {.frame_loss = 0.01}}),
            "shoal sim --seed 42 --nodes 50 --seconds 2.5 --frame-loss 0.01");
}

TEST(RollCallTest, ImpossibleOptionsAreRefused) {
  for (const std::uint32_t nodes : {0U, 1U, kRollCallNodesMax + 1}) {
    RollCallOptions options;
    options.nodes = nodes;
    EXPECT_EQ(RunRollCall(options, {}).status().code(), Code::kInvalidArgument) << nodes;
  }
  EXPECT_EQ(RunRollCall({.duration = seconds(-1)}, {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::sim
