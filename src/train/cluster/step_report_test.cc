// Goal: a step's loss is that of all samples, and everybody's times and energy are in its report.
#include "train/cluster/step_report.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};

void Set(wire::pb::TrainInterval& interval, double begin, double end) {
  interval.set_begin(begin);
  interval.set_end(end);
}

TEST(StepReportTest, AddsUpWhatWorkersSay) {
  Crew crew({});
  crew.Add(kA, {});
  crew.Add(kB, {}).watts = 3;
  ChiefRound round;
  round.samples[kA].resize(1);
  round.samples[kB].resize(3);
  round.done[kA].set_loss(1);
  wire::pb::TrainDone& done = round.done[kB];
  done.set_loss(2);
  done.set_end(1.5);
  Set(*done.mutable_load(), 0, 0.25);
  Set(*done.add_compute(), 0.25, 0.5);
  Set(*done.add_compute(), 0.5, 1);
  Set(*done.add_buckets(), 0.5, 1.25);
  EXPECT_EQ(BusySeconds(done), 1);

  const CommittedStep step =
      ReportStep(round, crew, {.step = 9, .begin = 4, .seconds = 2, .epoch = 5, .workers = {}});
  EXPECT_EQ(step.iteration, 9);
  EXPECT_EQ(step.loss, 1.75);
  EXPECT_EQ(step.times.seconds, 2);
  ASSERT_EQ(step.times.workers.size(), 2U);
  EXPECT_FALSE(step.times.workers[0].joules);
  const WorkerStep expected{.node = kB,
                            .samples = 3,
                            .load = {0, 0.25},
                            .compute = {{0.25, 0.5}, {0.5, 1}},
                            .buckets = {{0.5, 1.25}},
                            .end = 1.5,
                            .joules = 6};
  EXPECT_EQ(step.times.workers[1], expected);
}

}  // namespace
}  // namespace shoal::train
