#include "shoal/run_keeper.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "nn/exact_sums.h"
#include "os/file.h"
#include "train/sidecar.h"

namespace shoal {
namespace {

// A head that dies takes with it what came after the last snapshot.
constexpr Duration kSnapshotEvery = std::chrono::minutes(5);
constexpr std::size_t kCommitsBytesMax = std::size_t{4} << 30U;
constexpr std::size_t kEventsMax = 1000;

// {"iteration":7,"epoch":3,"loss":1.6,"samples":{"2":[[0,96,16]]}}: places [position, position +
// count) of an epoch of the data set, by node.
std::string CommitLine(const train::CommittedStep& step) {
  nlohmann::ordered_json line = {
      {"iteration", step.iteration}, {"epoch", step.times.epoch}, {"loss", step.loss}};
  for (const auto& [node, samples] : step.samples) {
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const train::Sample& sample : samples) {
      if (!runs.empty() && runs.back()[0] == sample.at.epoch &&
          runs.back()[1].get<std::uint64_t>() + runs.back()[2].get<std::uint64_t>() ==
              sample.at.position) {
        runs.back()[2] = runs.back()[2].get<std::uint64_t>() + 1;
      } else {
        runs.push_back({sample.at.epoch, sample.at.position, 1});
      }
    }
    line["samples"][std::to_string(ToNumber(node))] = std::move(runs);
  }
  return line.dump() + "\n";
}

}  // namespace

// What is done with a state, off the loop.
struct RunKeeper::Work {
  std::int64_t iteration = 0;
  bool test = false;
  bool save = false;
  train::PoolState pool;
  std::vector<double> losses;  // Copied: the loop adds to the others meanwhile.
  UniqueFunction<void(Status)> done;
  std::vector<std::vector<train::NamedValue>> results;
  Status status;           // Of the tests.
  Status snapshot_status;  // Of the files.
};

RunKeeper::RunKeeper(const RunKeeperOptions& options, std::unique_ptr<train::NetLearner> learner,
                     std::vector<std::unique_ptr<train::Model>> tests, const Clock& clock,
                     Executor& executor)
    : options_(options),
      clock_(clock),
      executor_(executor),
      learner_(std::move(learner)),
      tests_(std::move(tests)),
      report_({.prefix = options.prefix, .quiet = options.quiet}, clock),
      schedule_(*nn::LrSchedule::Make(learner_->solver_def())),
      losses_(learner_->solver_def().average_loss),
      shown_(learner_->iteration()),
      rate_(learner_->rate()),
      begin_(clock.Now()),
      saved_(clock.Now()) {
  schedule_.set_state(learner_->solver().schedule_state());
  for (const std::span<float> part : learner_->state()) incoming_.emplace_back(part.size());
}

Result<std::unique_ptr<RunKeeper>> RunKeeper::Make(const RunKeeperOptions& options,
                                                   std::unique_ptr<train::NetLearner> learner,
                                                   std::vector<std::unique_ptr<train::Model>> tests,
                                                   const Clock& clock, Executor& executor) {
  std::unique_ptr<RunKeeper> keeper(
      new RunKeeper(options, std::move(learner), std::move(tests), clock, executor));
  SHOAL_RETURN_IF_ERROR(keeper->report_.Open(options.resumed, keeper->iteration()));
  SHOAL_RETURN_IF_ERROR(keeper->OpenCommits(options.resumed));
  return keeper;
}

// Goes on with the list that is there, up to where the run stands.
Status RunKeeper::OpenCommits(bool goes_on) {
  const std::string path = options_.prefix + ".commits.jsonl";
  std::string kept;
  if (goes_on) {
    const Result<std::string> text = os::ReadFile(path, kCommitsBytesMax);
    for (std::size_t at = 0; text.ok() && at < text->size();) {
      const std::size_t end = text->find('\n', at);
      if (end == std::string::npos) break;
      const std::string line = text->substr(at, end + 1 - at);
      const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object() || !json.contains("iteration")) break;
      const nlohmann::json& at_iteration = json["iteration"];
      if (!at_iteration.is_number() || at_iteration.get<std::int64_t>() > iteration()) break;
      kept += line;
      at = end + 1;
    }
  }
  return commits_.Open(path, kept);
}

std::vector<std::span<float>> RunKeeper::incoming() { return {incoming_.begin(), incoming_.end()}; }

bool RunKeeper::Passes(std::int64_t interval, std::int64_t iteration) const {
  return interval > 0 && iteration / interval > (iteration - options_.period) / interval;
}

bool RunKeeper::IsTestDue(std::int64_t iteration) const {
  return !tests_.empty() && Passes(learner_->solver_def().test_interval, iteration);
}

bool RunKeeper::IsSnapshotDue(std::int64_t iteration) const {
  if (snapshot_asked_ || Passes(learner_->solver_def().snapshot, iteration)) return true;
  return iteration >= options_.stop || clock_.Now() - saved_ >= kSnapshotEvery;
}

bool RunKeeper::WantsState(std::int64_t iteration) const {
  return IsTestDue(iteration) || IsSnapshotDue(iteration);
}

void RunKeeper::Say(const std::string& line) {
  report_.Say(line);
  if (events_.size() >= kEventsMax) events_.erase(events_.begin());
  events_.push_back({ToSeconds(clock_.Now() - begin_), line});
}

RunProgress RunKeeper::Progress(std::int64_t iteration) const {
  return {.iteration = iteration,
          .stop = options_.stop,
          .display = learner_->solver_def().display,
          .images_per_step = options_.batch,
          .loss = losses_.mean(),
          .rate = rate_};
}

Status RunKeeper::OnStep(const train::CommittedStep& step) {
  rate_ = schedule_.Next(step.iteration - 1, step.loss);
  losses_.Add(step.loss);
  shown_ = step.iteration;
  timeline_.Add(step.times);
  const Status committed = commits_.Append(CommitLine(step));
  const Status reported = report_.OnStep(Progress(step.iteration));
  SayLogStatus(committed.ok() ? reported : committed);
  return {};
}

void RunKeeper::SayLogStatus(const Status& status) {
  if (std::exchange(log_fails_, !status.ok()) == log_fails_) return;
  Say(status.ok() ? "the log can be written again; nothing of it is lost"
                  : fmt::format("{}; the training goes on", status.message()));
}

void RunKeeper::OnRollback() {
  shown_ = iteration();
  schedule_.set_state(learner_->solver().schedule_state());
  for (const Status& status : {report_.GoBack(iteration()), OpenCommits(true)}) {
    if (!status.ok()) Say(status.ToString());
  }
}

Result<RunKeeper::Scores> RunKeeper::RunTests() {
  learner_->ExchangeWeights();
  Result<Scores> results = ScoreAll();
  learner_->ExchangeWeights();
  return results;
}

Result<RunKeeper::Scores> RunKeeper::ScoreAll() {
  Scores results;
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(auto scores,
                           AverageScores(*tests_[i], learner_->solver_def().test_iter[i]));
    results.push_back(std::move(scores));
  }
  return results;
}

Status RunKeeper::TestFirst() {
  if (tests_.empty() || !learner_->solver_def().test_initialization || iteration() > 0) return {};
  SHOAL_ASSIGN_OR_RETURN(const auto results, RunTests());
  return report_.OnTest(0, results);
}

// What would make Restore fail, and more.
Status RunKeeper::CheckNote(std::int64_t iteration, const std::string& note) const {
  const auto wrong = [](const char* what) {
    return Status(Code::kInvalidArgument, fmt::format("gives weights with {}", what));
  };
  const Result<train::Sidecar> said = train::ReadSidecar("note", note);
  if (!said.ok()) return wrong("a note that cannot be read");
  if (said->iteration != iteration) return wrong("another iteration");
  if (said->schedule.current_step < 0) return wrong("counts below zero");
  const train::Sidecar own = learner_->MakeSidecar();
  if (own.unit == 0) return {};
  if (said->limits.size() != own.limits.size() || !nn::ExactSums::AreLimits(said->limits)) {
    return wrong("limits that are not of this network");
  }
  return {};
}

void RunKeeper::Adopt(std::int64_t iteration, const std::string& note, const train::PoolState& pool,
                      UniqueFunction<void(Status)> done) {
  const std::vector<std::span<float>> state = learner_->state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::copy(incoming_[i].begin(), incoming_[i].end(), state[i].begin());
  }
  if (Status status = learner_->Restore(note); !status.ok()) return done(std::move(status));
  auto work = std::make_shared<Work>();
  work->iteration = iteration;
  work->test = IsTestDue(iteration);
  // Whoever stops a run wants to go on with it.
  work->save = IsSnapshotDue(iteration) || !work->test;
  work->pool = pool;
  work->losses = losses_.all();
  work->done = std::move(done);
  const Status submitted = executor_.Submit({.tag = {},
                                             .work = {},
                                             .run =
                                                 [this, work] {
                                                   if (work->save) {
                                                     work->snapshot_status = WriteSnapshot(*work);
                                                   }
                                                   if (!work->test) return;
                                                   auto results = RunTests();
                                                   work->status = results.status();
                                                   if (results.ok()) {
                                                     work->results = *std::move(results);
                                                   }
                                                 },
                                             .done = [this, work](JobTag) { OnWorkDone(*work); }});
  if (!submitted.ok()) work->done(submitted);
}

void RunKeeper::OnWorkDone(Work& work) {
  if (work.save) {
    snapshot_asked_ = false;
    saved_ = clock_.Now();
    snapshot_status_ = work.snapshot_status;
    if (work.snapshot_status.ok()) {
      last_snapshot_ = SnapshotPath(".solverstate");
    } else {
      Say(fmt::format("no snapshot of iteration {}: {}{}", work.iteration,
                      work.snapshot_status.message(),
                      last_snapshot_.empty() ? "" : "; the last one is " + last_snapshot_));
    }
  }
  if (work.status.ok() && work.test) SayLogStatus(report_.OnTest(work.iteration, work.results));
  work.done(work.status);
}

std::string RunKeeper::SnapshotPath(const char* suffix) const {
  return fmt::format("{}_iter_{}{}", options_.prefix, iteration(), suffix);
}

Status RunKeeper::WriteSnapshot(const Work& work) {
  const auto everyone = os::FileAccess::kEveryone;
  const std::string weights = SnapshotPath(".caffemodel");
  SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(weights, learner_->WeightsBytes(), everyone));
  train::Sidecar sidecar = learner_->MakeSidecar();
  sidecar.seed = options_.seed;
  sidecar.batch = options_.batch;
  sidecar.train = {work.pool.next};
  sidecar.losses = work.losses;
  sidecar.owed = work.pool.owed;
  for (const auto& test : tests_) sidecar.tests.push_back(test->cursors());
  SHOAL_RETURN_IF_ERROR(
      os::WriteFileAtomically(SnapshotPath(".shoal.json"), train::WriteSidecar(sidecar), everyone));
  // Last: whoever finds it finds the others.
  return os::WriteFileAtomically(SnapshotPath(".solverstate"), learner_->StateBytes(weights),
                                 everyone);
}

Status RunKeeper::WritePages() {
  const auto everyone = os::FileAccess::kEveryone;
  SHOAL_RETURN_IF_ERROR(
      os::WriteFileAtomically(options_.prefix + ".timeline.html",
                              train::TimelineHtml(options_.prefix, timeline_, events_), everyone));
  return os::WriteFileAtomically(options_.prefix + ".trace.json", train::ChromeTrace(timeline_),
                                 everyone);
}

Status RunKeeper::Finish() {
  const Status pages = WritePages();
  const Status report = report_.Finish(Progress(shown_));
  if (!options_.quiet) {
    const train::TimelineSummary sum = timeline_.summary();
    fmt::print(
        "computing {:.1f} % of the time (efficiency), {:.0f} % of the communication hidden, "
        "{:.1f} % waiting for slower ones\n",
        100 * sum.efficiency, 100 * sum.hidden_share, 100 * sum.wait_share);
    if (sum.joules_per_image) fmt::print("energy: {}\n", train::EnergyText(sum));
    if (pages.ok())
      fmt::print("timeline: {0}.timeline.html\ntrace: {0}.trace.json\n", options_.prefix);
    if (!last_snapshot_.empty()) fmt::print("snapshot: {}\n", last_snapshot_);
    std::fflush(stdout);
  }
  if (!snapshot_status_.ok()) {
    return {snapshot_status_.code(),
            fmt::format("the last snapshot could not be written: {}{}", snapshot_status_.message(),
                        last_snapshot_.empty() ? "" : "; to go on: --resume " + last_snapshot_)};
  }
  SHOAL_RETURN_IF_ERROR(pages);
  SHOAL_RETURN_IF_ERROR(report);
  if (!log_fails_) return {};
  return {Code::kResourceExhausted, "the log lacks its last lines: the disk is full"};
}

}  // namespace shoal
