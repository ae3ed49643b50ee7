// RunKeeper: what the head of a training keeps: log, curves, timeline, the list of what was
// committed; and from time to time the weights of its workers, which it tests and saves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/status.h"
#include "nn/conv_tuner.h"
#include "nn/lr_schedule.h"
#include "shoal/line_file.h"
#include "shoal/run_report.h"
#include "train/cluster/keeper.h"
#include "train/cluster/net_learner.h"
#include "train/cluster/timeline.h"
#include "train/loss_window.h"
#include "train/model.h"

namespace shoal {

struct RunKeeperOptions {
  std::string prefix;  // Of all files.
  bool quiet = false;
  bool resumed = false;
  std::int64_t stop = 0;
  std::int64_t batch = 0;   // Of all workers, in one iteration.
  std::int64_t period = 1;  // Iterations of a step.
  std::uint64_t seed = 0;
};

class RunKeeper final : public train::Keeper {
 public:
  // `learner` has the weights to begin with, `tests` are built on its parameters. `clock` and
  // `executor` outlive it.
  static Result<std::unique_ptr<RunKeeper>> Make(const RunKeeperOptions& options,
                                                 std::unique_ptr<train::NetLearner> learner,
                                                 std::vector<std::unique_ptr<train::Model>> tests,
                                                 const Clock& clock, Executor& executor);

  // What the solver wants to know before the first step. Blocks.
  Status TestFirst();
  // At the next step.
  void AskForSnapshot() { snapshot_asked_ = true; }
  // A line of news, which is also an event of the timeline.
  void Say(const std::string& line);
  void Name(NodeId node, std::string name) { timeline_.Name(node, std::move(name)); }
  // Writes the pages, says how it went. Fails if the last snapshot could not be written.
  Status Finish();
  // Of the last snapshot; empty: there is none.
  const std::string& last_snapshot() const { return last_snapshot_; }

  std::int64_t iteration() const override { return learner_->iteration(); }
  std::string note() const override { return learner_->Note(); }
  std::vector<std::span<float>> state() override { return learner_->state(); }
  std::vector<std::span<float>> incoming() override;
  bool WantsState(std::int64_t iteration) const override;
  Status CheckNote(std::int64_t iteration, const std::string& note) const override;
  void Adopt(std::int64_t iteration, const std::string& note, const train::PoolState& pool,
             UniqueFunction<void(Status)> done) override;
  Status OnStep(const train::CommittedStep& step) override;
  void OnRollback() override;

 private:
  struct Work;

  RunKeeper(const RunKeeperOptions& options, std::unique_ptr<train::NetLearner> learner,
            std::vector<std::unique_ptr<train::Model>> tests, const Clock& clock,
            Executor& executor);
  // Whether the last step went over a multiple of `interval`.
  bool Passes(std::int64_t interval, std::int64_t iteration) const;
  bool IsTestDue(std::int64_t iteration) const;
  bool IsSnapshotDue(std::int64_t iteration) const;
  RunProgress Progress(std::int64_t iteration) const;
  using Scores = std::vector<std::vector<train::NamedValue>>;
  // Of the weights that a snapshot has.
  Result<Scores> RunTests();
  Result<Scores> ScoreAll();
  // Off the loop.
  Status WriteSnapshot(const Work& work);
  std::string SnapshotPath(const char* suffix) const;
  Status OpenCommits(bool goes_on);
  Status WritePages();
  void OnWorkDone(Work& work);
  // A disk that is full ends no training.
  void SayLogStatus(const Status& status);

  const RunKeeperOptions options_;
  const Clock& clock_;
  Executor& executor_;
  std::unique_ptr<train::NetLearner> learner_;  // Computes nothing but tests.
  std::vector<std::unique_ptr<train::Model>> tests_;
  std::vector<std::vector<float>> incoming_;
  RunReport report_;
  train::TimelineKeeper timeline_;
  std::vector<train::TimelineEvent> events_;
  LineFile commits_;
  bool log_fails_ = false;  // And that was said.
  nn::LrSchedule schedule_;
  train::LossWindow losses_;
  std::int64_t shown_ = 0;  // The last iteration that was committed.
  double rate_ = 0;
  Instant begin_;
  Instant saved_;
  bool snapshot_asked_ = false;
  std::string last_snapshot_;
  Status snapshot_status_;
};

}  // namespace shoal
