#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "caffe/weights_file.h"
#include "nn/first_supported.h"
#include "train/batch_search.h"
#include "train/solver_state.h"
#include "train/unit.h"
#include "train/weights.h"

namespace shoal::train {
namespace {

// Parameters, gradients and history, and twice the parameters while a snapshot is written.
constexpr std::size_t kParamCopies = 5;
// The program itself, its libraries and the stacks of its threads; and a margin for what nobody
// counts: without it ResNet-20 told to take 600 MiB peaked at 620, with it at 575.
constexpr std::size_t kProgramBytes = std::size_t{64} << 20U;
constexpr std::size_t kMarginShare = 16;

bool Divides(std::int64_t interval, std::int64_t iteration) {
  return interval > 0 && iteration % interval == 0;
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::Create(TrainerSetup setup, const TrainerOptions& options,
                                                 const ReadFile& read, nn::ConvChooser& chooser,
                                                 Parallel& parallel) {
  std::unique_ptr<Trainer> trainer(new Trainer(options, parallel));
  trainer->def_ = setup.solver;
  trainer->losses_ = LossWindow(setup.solver.average_loss);
  SHOAL_RETURN_IF_ERROR(trainer->OpenModels(setup, read));
  if (options.unit > 0) SHOAL_RETURN_IF_ERROR(trainer->CutIntoUnits());
  SHOAL_RETURN_IF_ERROR(trainer->BuildModels(chooser));
  SHOAL_RETURN_IF_ERROR(trainer->params_->Allocate(options.seed, true));
  if (options.unit > 0) {
    SHOAL_ASSIGN_OR_RETURN(trainer->exact_,
                           nn::ExactSums::Make(*trainer->params_, trainer->Runs(), parallel));
  }
  SHOAL_ASSIGN_OR_RETURN(trainer->solver_,
                         nn::Solver::Make(trainer->def_, *trainer->params_, parallel));
  return trainer;
}

Status Trainer::OpenModels(TrainerSetup& setup, const ReadFile& read) {
  FeedOptions options{
      .train = true, .seed = options_.seed, .threads = std::max(1, options_.loader_threads)};
  SHOAL_ASSIGN_OR_RETURN(train_, Model::Open(std::move(setup.train), options, read));
  options.train = false;
  for (caffe::Network& network : setup.tests) {
    SHOAL_ASSIGN_OR_RETURN(auto test, Model::Open(std::move(network), options, read));
    tests_.push_back(std::move(test));
  }
  return {};
}

Status Trainer::CutIntoUnits() {
  if (options_.largest_batch) {
    return Status(Code::kInvalidArgument,
                  "exact sums need a batch that is known: it is not what fits the memory");
  }
  const std::int64_t batch = train_->Batch(options_.batch);
  SHOAL_RETURN_IF_ERROR(CheckUnit(options_.unit, batch));
  units_ = batch / options_.unit;
  return {};
}

Status Trainer::BuildModels(nn::ConvChooser& chooser) {
  std::size_t bytes_max = options_.bytes_max;
  if (bytes_max > 0) {
    std::size_t others = kProgramBytes + bytes_max / kMarginShare;
    for (const auto& test : tests_) {
      SHOAL_ASSIGN_OR_RETURN(const std::size_t arena, TestArenaBytes(*test, parallel_));
      others += arena + test->LoaderBytes(0);
    }
    bytes_max -= std::min(others, bytes_max - 1);
  }
  nn::FirstSupported first;  // What is the fastest here is not the fastest elsewhere.
  SHOAL_RETURN_IF_ERROR(
      BuildTrain(bytes_max, options_.unit > 0 ? static_cast<nn::ConvChooser&>(first) : chooser));
  for (const auto& test : tests_) {
    SHOAL_RETURN_IF_ERROR(test->Build({.seed = options_.seed}, *params_, chooser, parallel_));
  }
  return {};
}

Status Trainer::BuildTrain(std::size_t bytes_max, nn::ConvChooser& chooser) {
  if (options_.largest_batch) {
    SHOAL_ASSIGN_OR_RETURN(options_.batch,
                           LargestBatch(*train_, bytes_max, kParamCopies, parallel_));
  }
  for (;;) {
    const std::int64_t batch = options_.unit > 0 ? options_.unit : options_.batch;
    BuildOptions build{.backward = true, .batch = batch, .seed = options_.seed};
    if (bytes_max > 0) {
      nn::ParamStore scratch;
      SHOAL_RETURN_IF_ERROR(
          nn::Graph::Build(train_->def(), {.input_shapes = train_->InputShapes(batch)}, scratch)
              .status());
      const std::size_t copies = kParamCopies + (options_.unit > 0 ? 1 : 0);
      const std::size_t fixed = FixedBytes(*train_, scratch.elements(), copies, batch);
      build.bytes_max = bytes_max > fixed ? bytes_max - fixed : 1;
    }
    Status status = train_->Build(build, *params_, chooser, parallel_);
    // The convolutions chosen want more to work in than the search assumed.
    const bool smaller = options_.largest_batch && status.code() == Code::kResourceExhausted;
    if (!smaller || options_.batch == 1) return status;
    options_.batch -= std::max<std::int64_t>(1, options_.batch / 16);
  }
}

Status Trainer::LoadWeights(std::string_view file, std::string_view bytes) {
  return train::LoadWeights(file, bytes, *params_);
}

Status Trainer::StartLoading() {
  if (feeding_) return {};
  feeding_ = true;
  if (!start_) {
    const auto steps = static_cast<std::uint64_t>(iteration() * Runs());
    SHOAL_RETURN_IF_ERROR(train_->Start(train_->CursorsAfter(steps)));
    for (const auto& test : tests_) SHOAL_RETURN_IF_ERROR(test->Start({}));
    return {};
  }
  SHOAL_RETURN_IF_ERROR(train_->Start(start_->train));
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(tests_[i]->Start(start_->tests[i]));
  }
  return {};
}

Status Trainer::Step() {
  SHOAL_RETURN_IF_ERROR(StartLoading());
  if (exact_) exact_->Clear();
  double sum = 0;
  for (std::int64_t i = 0; i < Runs(); ++i) {
    auto number = static_cast<std::uint64_t>(iteration() * Runs() + i);
    if (exact_) number = UnitNumber(train_->feeds().front()->cursor());
    SHOAL_RETURN_IF_ERROR(train_->FillInputs());
    SHOAL_ASSIGN_OR_RETURN(const double loss, train_->net().Forward(number));
    train_->net().Backward(/*accumulate=*/!exact_ && i > 0);
    if (exact_) exact_->Add(params_->gradients(), 0, params_->gradients().size());
    sum += loss;
  }
  losses_.Add(sum / static_cast<double>(Runs()));
  const std::span<const float> sums = exact_ ? exact_->sums() : params_->gradients();
  solver_->Update(losses_.last(), sums, Runs());
  if (exact_) exact_->Follow(sums);
  return {};
}

Result<std::vector<std::vector<NamedValue>>> Trainer::Test() {
  SHOAL_RETURN_IF_ERROR(StartLoading());
  std::vector<std::vector<NamedValue>> results;
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<NamedValue> scores,
                           AverageScores(*tests_[i], def_.test_iter[i]));
    results.push_back(std::move(scores));
  }
  return results;
}

bool Trainer::ShouldTest() const {
  if (tests_.empty() || !Divides(def_.test_interval, iteration())) return false;
  return iteration() > 0 || def_.test_initialization;
}

bool Trainer::ShouldSnapshot() const {
  if (iteration() > 0 && Divides(def_.snapshot, iteration())) return true;
  return done() && def_.snapshot_after_train;
}

std::string Trainer::WeightsBytes() {
  return caffe::WriteWeights(ExportWeights(train_->def(), *params_));
}

std::string Trainer::StateBytes(const std::string& learned_net) {
  return caffe::WriteSolverState(ExportState(learned_net, *params_, *solver_));
}

Sidecar Trainer::MakeSidecar(std::vector<nn::ConvChoice> convolutions) const {
  Sidecar sidecar{.iteration = iteration(),
                  .seed = options_.seed,
                  .batch = options_.batch,
                  .workers = parallel_.workers(),
                  .convolutions = std::move(convolutions),
                  .losses = losses_.all(),
                  .schedule = solver_->schedule_state()};
  if (exact_) {
    sidecar.unit = options_.unit;
    sidecar.limits = exact_->limits();
  }
  if (!feeding_ && start_) {
    sidecar.train = start_->train;
    sidecar.tests = start_->tests;
    return sidecar;
  }
  sidecar.train = feeding_ ? train_->cursors() : train_->CursorsAfter(0);
  for (const auto& test : tests_) {
    sidecar.tests.push_back(feeding_ ? test->cursors() : test->CursorsAfter(0));
  }
  return sidecar;
}

Status Trainer::Resume(std::string_view file, const caffe::SolverStateFile& state,
                       const std::optional<Sidecar>& sidecar) {
  SHOAL_RETURN_IF_ERROR(RestoreHistories(file, state, *params_, *solver_));
  if (!sidecar) {
    solver_->Restore(state.iter, ScheduleOf(state));
    return {};
  }
  const auto mismatch = [&](const char* what) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}: its .shoal.json is of another run: {}", file, what));
  };
  if (sidecar->iteration != state.iter) return mismatch("another iteration");
  if (sidecar->train.size() != train_->feeds().size()) return mismatch("other data layers");
  if (sidecar->tests.size() != tests_.size()) return mismatch("other test networks");
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    if (sidecar->tests[i].size() != tests_[i]->feeds().size()) return mismatch("other data layers");
  }
  if (exact_ && sidecar->unit > 0) SHOAL_RETURN_IF_ERROR(exact_->SetLimits(sidecar->limits));
  solver_->Restore(state.iter, sidecar->schedule);
  losses_.Set(sidecar->losses);
  start_ = sidecar;
  feeding_ = false;
  return {};
}

}  // namespace shoal::train
