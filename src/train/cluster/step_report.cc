#include "train/cluster/step_report.h"

#include <utility>

namespace shoal::train {
namespace {

Interval ReadInterval(const wire::pb::TrainInterval& interval) {
  return {interval.begin(), interval.end()};
}

WorkerStep ReadTimes(NodeId node, std::size_t samples, const wire::pb::TrainDone& done) {
  WorkerStep step{.node = node,
                  .samples = static_cast<std::int64_t>(samples),
                  .load = ReadInterval(done.load()),
                  .compute = {},
                  .buckets = {},
                  .end = done.end()};
  for (const auto& part : done.compute()) step.compute.push_back(ReadInterval(part));
  for (const auto& bucket : done.buckets()) step.buckets.push_back(ReadInterval(bucket));
  return step;
}

}  // namespace

double BusySeconds(const wire::pb::TrainDone& done) {
  double busy = done.load().end() - done.load().begin();
  for (const auto& part : done.compute()) busy += part.end() - part.begin();
  return busy;
}

CommittedStep ReportStep(const ChiefRound& round, const Crew& crew, StepTimeline times) {
  CommittedStep step{.iteration = times.step, .loss = 0, .samples = {}, .times = std::move(times)};
  const auto all = static_cast<double>(round.Samples());
  for (const auto& [node, done] : round.done) {
    const std::size_t samples = round.samples.at(node).size();
    step.loss += done.loss() * static_cast<double>(samples) / all;
    WorkerStep& worker = step.times.workers.emplace_back(ReadTimes(node, samples, done));
    const Mate& mate = *crew.Find(node);
    // It also takes power while it waits for the others.
    if (mate.watts) worker.joules = *mate.watts * step.times.seconds;
    worker.joules_estimated = mate.watts_estimated;
  }
  return step;
}

}  // namespace shoal::train
