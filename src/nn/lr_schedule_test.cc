#include "nn/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shoal::nn {
namespace {

LrSchedule Made(const SolverDef& def) {
  Result<LrSchedule> schedule = LrSchedule::Make(def);
  EXPECT_TRUE(schedule.ok()) << schedule.status().ToString();
  return *schedule;
}

TEST(LrScheduleTest, FollowsEveryPolicy) {
  SolverDef def{.base_lr = 0.1F, .gamma = 0.5F, .power = 2, .stepsize = 10, .max_iter = 100};
  const struct {
    LrPolicy policy;
    double at_25;
  } kCases[] = {{LrPolicy::kFixed, 0.1},
                {LrPolicy::kStep, 0.1 * 0.25},
                {LrPolicy::kExp, 0.1 * std::pow(0.5, 25)},
                {LrPolicy::kInv, 0.1 * std::pow(1 + 0.5 * 25, -2)},
                {LrPolicy::kPoly, 0.1 * 0.75 * 0.75},
                {LrPolicy::kSigmoid, 0.1 / (1 + std::exp(-0.5 * 15))}};
  for (const auto& [policy, at_25] : kCases) {
    def.lr_policy = policy;
    EXPECT_NEAR(Made(def).RateAt(25), at_25, 1e-6 * at_25 + 1e-12) << static_cast<int>(policy);
  }
}

TEST(LrScheduleTest, MultistepFallsOnceAnIteration) {
  LrSchedule schedule = Made(
      {.lr_policy = LrPolicy::kMultiStep, .base_lr = 1, .gamma = 0.1F, .stepvalues = {5, 5, 8}});
  EXPECT_FLOAT_EQ(schedule.Next(4, 0), 1);
  EXPECT_FLOAT_EQ(schedule.Next(5, 0), 0.1F);  // The second value of 5 waits for its turn.
  EXPECT_FLOAT_EQ(schedule.Next(6, 0), 0.01F);
  EXPECT_FLOAT_EQ(schedule.Next(9, 0), 0.001F);
  EXPECT_EQ(schedule.state().current_step, 3);
}

TEST(LrScheduleTest, WarmsUpAndKeepsItsMinimum) {
  const LrSchedule schedule = Made({.lr_policy = LrPolicy::kExp,
                                    .base_lr = 3.2F,
                                    .gamma = 0.9F,
                                    .warmup_iter = 10,
                                    .warmup_start_lr = 0.1F,
                                    .min_lr = 1.5F});
  EXPECT_FLOAT_EQ(schedule.RateAt(0), 0.1F);
  EXPECT_GT(schedule.RateAt(5), schedule.RateAt(4));
  EXPECT_FLOAT_EQ(schedule.RateAt(100), 1.5F);
}

TEST(LrScheduleTest, PlateauFallsWhenTheLossDoesNot) {
  LrSchedule schedule = Made(
      {.lr_policy = LrPolicy::kPlateau, .base_lr = 1, .gamma = 0.5F, .plateau_winsize = {3, 100}});
  EXPECT_FLOAT_EQ(schedule.Next(1, 2.0), 1);
  EXPECT_FLOAT_EQ(schedule.Next(2, 1.0), 1);
  EXPECT_FLOAT_EQ(schedule.Next(4, 1.5), 1);
  EXPECT_FLOAT_EQ(schedule.Next(5, 1.2), 0.5F);
  EXPECT_FLOAT_EQ(schedule.Next(20, 1.2), 0.5F);
}

TEST(LrScheduleTest, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(LrSchedule::Make({.lr_policy = LrPolicy::kStep, .base_lr = 1}).ok());
  EXPECT_FALSE(LrSchedule::Make({.lr_policy = LrPolicy::kPoly, .base_lr = 1}).ok());
  EXPECT_FALSE(LrSchedule::Make({.base_lr = -1}).ok());
  EXPECT_FALSE(LrSchedule::Make({.base_lr = std::nanf("")}).ok());
  EXPECT_FALSE(LrSchedule::Make({.base_lr = 1, .stepvalues = {5, 3}}).ok());
}

}  // namespace
}  // namespace shoal::nn
