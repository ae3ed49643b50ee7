// `shoal train`: trains a network as a Caffe solver says, and can be stopped and resumed at any
// iteration.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/conv.h"
#include "nn/scale_to_batch.h"
#include "os/file.h"
#include "shoal/commands.h"
#include "shoal/run_report.h"
#include "shoal/solver_files.h"
#include "shoal/train_command.h"
#include "train/trainer.h"
#include "train/unit.h"

namespace shoal {
namespace {

// A thread from before the one that computes is pinned: what it starts is free to run anywhere,
// where threads started by a pinned one would sit on its core.
class FreeThread {
 public:
  FreeThread() : thread_([task = task_.get_future()]() mutable { task.get()(); }) {}
  ~FreeThread() {
    if (thread_.joinable()) Run([] {});
  }
  FreeThread(const FreeThread&) = delete;
  FreeThread& operator=(const FreeThread&) = delete;

  // Once.
  void Run(std::function<void()> task) {
    task_.set_value(std::move(task));
    thread_.join();
  }

 private:
  std::promise<std::function<void()>> task_;
  std::thread thread_;
};

Status ReadBatch(const TrainCommand& command, train::TrainerOptions& options) {
  if (!command.memory.empty()) {
    SHOAL_ASSIGN_OR_RETURN(options.bytes_max, ParseBytes(command.memory));
  }
  if (command.batch.empty()) return {};
  if (command.batch == "auto") {
    options.largest_batch = true;
    if (options.bytes_max > 0) return {};
    return Status(Code::kInvalidArgument, "--batch auto needs --memory: how much may it take?");
  }
  const char* end = command.batch.data() + command.batch.size();
  const auto [rest, error] = std::from_chars(command.batch.data(), end, options.batch);
  if (error == std::errc() && rest == end && options.batch >= 1) return {};
  return Status(Code::kInvalidArgument,
                fmt::format("--batch '{}': a number of images, or auto", command.batch));
}

}  // namespace

std::string InUnits(std::int64_t unit) {
  return unit > 0 ? fmt::format(" in units of {}, added up exactly", unit) : "";
}

std::int64_t ChooseUnit(const TrainCommand& command, std::int64_t resumed, std::int64_t batch) {
  if (command.unit > 0) return command.unit;
  if (resumed > 0) return resumed;
  return command.exact ? train::DefaultUnit(batch) : 0;
}

namespace {

// One run of the command.
class TrainRun {
 public:
  explicit TrainRun(const TrainCommand& command) : command_(command), finder_(command.solver) {}

  Status Run();

 private:
  Status ReadFiles();
  Status MakeTrainer();
  Status LoadStart();
  Status Loop();
  Status RunTests();
  Status WriteSnapshot();
  Status Leave();

  std::string SnapshotPath(const char* suffix) const {
    return fmt::format("{}_iter_{}{}", prefix_, trainer_->iteration(), suffix);
  }

  const TrainCommand& command_;
  FileFinder finder_;
  FreeThread free_thread_;
  SolverFiles files_;
  std::optional<SnapshotFiles> snapshot_;
  std::string prefix_;
  std::unique_ptr<Compute> compute_;
  std::unique_ptr<train::Trainer> trainer_;
  std::unique_ptr<RunReport> report_;
  std::int64_t written_ = -1;  // The iteration of the last snapshot.
};

Status TrainRun::Run() {
  SHOAL_RETURN_IF_ERROR(ReadFiles());
  SHOAL_RETURN_IF_ERROR(MakeTrainer());
  SHOAL_RETURN_IF_ERROR(LoadStart());
  Status loading;
  free_thread_.Run([&] { loading = trainer_->StartLoading(); });
  SHOAL_RETURN_IF_ERROR(std::move(loading));
  report_ = std::make_unique<RunReport>(
      RunReportOptions{.prefix = prefix_, .quiet = command_.quiet}, compute_->clock());
  SHOAL_RETURN_IF_ERROR(report_->Open(snapshot_.has_value(), trainer_->iteration()));
  ListenToTrainSignals();
  SHOAL_RETURN_IF_ERROR(Loop());
  return Leave();
}

Status TrainRun::ReadFiles() {
  if (!command_.resume.empty()) {
    SHOAL_ASSIGN_OR_RETURN(snapshot_, ReadSnapshot(command_.resume));
  }
  const bool starts_from = snapshot_.has_value() || !command_.weights.empty();
  SHOAL_ASSIGN_OR_RETURN(files_,
                         ReadSolverFiles(command_.solver, command_.net, starts_from, finder_));
  prefix_ = files_.setup.solver.snapshot_prefix;
  for (const std::string& warning : files_.warnings) {
    if (!command_.quiet) fmt::print(stderr, "shoal: {}\n", warning);
  }
  return {};
}

Status TrainRun::MakeTrainer() {
  nn::SolverDef& solver = files_.setup.solver;
  train::TrainerOptions options{
      .seed = solver.random_seed < 0 ? 1 : static_cast<std::uint64_t>(solver.random_seed),
      .stop = command_.iterations};
  SHOAL_RETURN_IF_ERROR(ReadBatch(command_, options));
  // Stopping earlier leaves the schedule alone; going on longer stretches it.
  solver.max_iter = std::max(solver.max_iter, command_.iterations);
  const std::string& backend = command_.compute.backend;
  if (backend != "auto" && backend != "portable") {
    SHOAL_RETURN_IF_ERROR(kernels::EnableConvImplementation(backend));
  }
  ComputeOptions compute = command_.compute;
  compute.bytes_max = options.bytes_max / 4 * 3;  // The program and its libraries want some, too.
  SHOAL_ASSIGN_OR_RETURN(compute_, Compute::Make(compute));
  if (snapshot_ && snapshot_->sidecar) {
    const train::Sidecar& sidecar = *snapshot_->sidecar;
    options.seed = sidecar.seed;
    if (command_.batch.empty()) options.batch = sidecar.batch;
    if (sidecar.workers != compute_->parallel().workers() && !command_.quiet) {
      fmt::print(stderr,
                 "shoal: the run used {} threads, now {}: the numbers may differ a little\n",
                 sidecar.workers, compute_->parallel().workers());
    }
    for (const nn::ConvChoice& choice : sidecar.convolutions) {
      SHOAL_RETURN_IF_ERROR(kernels::EnableConvImplementation(choice.row));
    }
    SHOAL_RETURN_IF_ERROR(compute_->tuner().Preset(sidecar.convolutions));
  }
  const std::int64_t resumed = snapshot_ && snapshot_->sidecar ? snapshot_->sidecar->unit : 0;
  const std::int64_t batch = options.batch > 0 || files_.setup.train.sources.empty()
                                 ? std::max<std::int64_t>(options.batch, 1)
                                 : files_.setup.train.sources.front().batch;
  options.unit = ChooseUnit(command_, resumed, batch);
  const ClusterTrainOptions& over = command_.over;
  if (over.scaled_from > 0 && command_.batch == "auto") {
    return {Code::kInvalidArgument, "--scaled-from: needs a --batch that is a number"};
  }
  SHOAL_RETURN_IF_ERROR(
      nn::ApplyLargeBatch({.scaled_from = static_cast<std::int64_t>(over.scaled_from),
                           .warmup = static_cast<std::int64_t>(over.warmup),
                           .lars = over.lars,
                           .momentum_correction = over.momentum_correction},
                          batch * std::max<std::int64_t>(solver.iter_size, 1), solver));
  SHOAL_ASSIGN_OR_RETURN(trainer_,
                         train::Trainer::Create(std::move(files_.setup), options, finder_.reader(),
                                                compute_->tuner(), compute_->parallel()));
  compute_->SaveTimes();
  return {};
}

Status TrainRun::LoadStart() {
  std::vector<std::string> weights = command_.weights.empty() ? files_.weights : command_.weights;
  if (snapshot_) weights = {snapshot_->weights_path};
  for (const std::string& path : weights) {
    SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path));
    SHOAL_RETURN_IF_ERROR(trainer_->LoadWeights(path, bytes));
  }
  if (snapshot_) {
    SHOAL_RETURN_IF_ERROR(
        trainer_->Resume(snapshot_->state_path, snapshot_->state, snapshot_->sidecar));
    snapshot_->state = {};  // Large, and not needed any more.
  }
  if (command_.quiet) return {};
  fmt::print("{} parameters, batch {}{}, {} threads{}\n", trainer_->params().elements(),
             trainer_->batch(), InUnits(trainer_->unit()), compute_->parallel().workers(),
             snapshot_ ? fmt::format(", resumed at iteration {}", trainer_->iteration()) : "");
  return {};
}

Status TrainRun::RunTests() {
  report_->Pause();
  SHOAL_ASSIGN_OR_RETURN(const auto results, trainer_->Test());
  SHOAL_RETURN_IF_ERROR(report_->OnTest(trainer_->iteration(), results));
  report_->Resume();
  return {};
}

Status TrainRun::WriteSnapshot() {
  if (written_ == trainer_->iteration()) return {};
  report_->Pause();
  const std::string weights = SnapshotPath(".caffemodel");
  const auto everyone = os::FileAccess::kEveryone;
  SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(weights, trainer_->WeightsBytes(), everyone));
  const train::Sidecar sidecar = trainer_->MakeSidecar(compute_->tuner().Choices());
  SHOAL_RETURN_IF_ERROR(
      os::WriteFileAtomically(SnapshotPath(".shoal.json"), train::WriteSidecar(sidecar), everyone));
  // Last: whoever finds it finds the others.
  SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(SnapshotPath(".solverstate"),
                                                trainer_->StateBytes(weights), everyone));
  written_ = trainer_->iteration();
  report_->Resume();
  return {};
}

Status TrainRun::Loop() {
  // A run that is resumed was tested where it stopped.
  if (!snapshot_ && trainer_->ShouldTest()) SHOAL_RETURN_IF_ERROR(RunTests());
  while (!trainer_->done()) {
    const TrainSignals signals = TakeTrainSignals();
    if (signals.stop) break;
    if (signals.snapshot) SHOAL_RETURN_IF_ERROR(WriteSnapshot());
    SHOAL_RETURN_IF_ERROR(trainer_->Step());
    SHOAL_RETURN_IF_ERROR(report_->OnStep(ProgressOf(*trainer_)));
    if (trainer_->ShouldTest()) SHOAL_RETURN_IF_ERROR(RunTests());
    if (trainer_->ShouldSnapshot()) SHOAL_RETURN_IF_ERROR(WriteSnapshot());
  }
  return {};
}

Status TrainRun::Leave() {
  const bool stopped = !trainer_->done();
  if (stopped) SHOAL_RETURN_IF_ERROR(WriteSnapshot());
  SHOAL_RETURN_IF_ERROR(report_->Finish(ProgressOf(*trainer_)));
  if (command_.quiet || written_ < 0) return {};
  fmt::print("snapshot: {}\n", SnapshotPath(".caffemodel"));
  if (stopped) {
    fmt::print("stopped; to go on: shoal train --solver {} --resume {}\n", command_.solver,
               SnapshotPath(".solverstate"));
  }
  return {};
}

}  // namespace

void AddTrain(CLI::App& app) {
  auto options = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand("train", "Train a network as a Caffe solver says");
  command->add_option("--solver", options->solver, "The solver prototxt")->required();
  command->add_option("--net", options->net, "Train this network instead of the solver's");
  CLI::Option* weights =
      command->add_option("--weights", options->weights, "Start from these .caffemodel files")
          ->delimiter(',');
  command->add_option("--resume", options->resume, "Go on from this .solverstate")
      ->excludes(weights);
  command->add_option("--batch", options->batch, "Images at a time; auto: as many as fit --memory")
      ->type_name("N|auto");
  command->add_option("--memory", options->memory, "What the run may take, as 2.8G or 512M")
      ->type_name("BYTES");
  command->add_option("--iterations", options->iterations, "Stop at this iteration")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40U));
  command->add_flag("--exact", options->exact,
                    "The same bits on any number of devices, threads and kinds of CPU: gradients "
                    "of units of images are added up exactly");
  command
      ->add_option("--unit", options->unit,
                   "Images of a unit of --exact (default: a sixteenth of the batch)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20U));
  command->add_flag("--quiet", options->quiet, "Print nothing; the log is written all the same");
  AddComputeOptions(*command, options->compute);
  AddClusterTrainOptions(*command, options->over);
  command->callback([options] {
    ExitOnError(IsOverCluster(*options) ? TrainOverCluster(*options) : TrainRun(*options).Run());
  });
}

}  // namespace shoal
