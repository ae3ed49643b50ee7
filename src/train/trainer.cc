#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "caffe/weights_file.h"
#include "train/batch_search.h"
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
  SHOAL_RETURN_IF_ERROR(trainer->OpenModels(setup, read));
  SHOAL_RETURN_IF_ERROR(trainer->BuildModels(chooser));
  SHOAL_RETURN_IF_ERROR(trainer->params_->Allocate(options.seed, true));
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
  SHOAL_RETURN_IF_ERROR(BuildTrain(bytes_max, chooser));
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
    BuildOptions build{.backward = true, .batch = options_.batch, .seed = options_.seed};
    if (bytes_max > 0) {
      nn::ParamStore scratch;
      SHOAL_RETURN_IF_ERROR(nn::Graph::Build(train_->def(),
                                             {.input_shapes = train_->InputShapes(options_.batch)},
                                             scratch)
                                .status());
      const std::size_t fixed =
          FixedBytes(*train_, scratch.elements(), kParamCopies, options_.batch);
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
    const auto steps = static_cast<std::uint64_t>(iteration() * def_.iter_size);
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
  double sum = 0;
  for (std::int64_t i = 0; i < def_.iter_size; ++i) {
    SHOAL_RETURN_IF_ERROR(train_->FillInputs());
    const auto number = static_cast<std::uint64_t>(iteration() * def_.iter_size + i);
    SHOAL_ASSIGN_OR_RETURN(const double loss, train_->net().Forward(number));
    train_->net().Backward(/*accumulate=*/i > 0);
    sum += loss;
  }
  const auto window = static_cast<std::size_t>(std::max<std::int64_t>(def_.average_loss, 1));
  if (losses_.size() >= window) {
    losses_.erase(losses_.begin(), losses_.end() - static_cast<std::ptrdiff_t>(window - 1));
  }
  losses_.push_back(sum / static_cast<double>(def_.iter_size));
  solver_->Update(losses_.back());
  return {};
}

double Trainer::smoothed_loss() const {
  if (losses_.empty()) return 0;
  return std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(losses_.size());
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
  const nn::LrSchedule::State& schedule = solver_->schedule_state();
  caffe::SolverStateFile state{.iter = iteration(),
                               .learned_net = learned_net,
                               .history = {},
                               .current_step = schedule.current_step,
                               .minimum_loss = {},
                               .iter_last_event = schedule.best_iteration};
  if (def_.lr_policy == nn::LrPolicy::kPlateau) {
    state.minimum_loss = static_cast<float>(schedule.best_loss);
  }
  for (std::size_t i = 0; i < solver_->histories(); ++i) {
    const nn::Param& param = (*params_)[solver_->history_param(i)];
    state.history.push_back(ToFileBlob(param.spec.layout, solver_->history(i)));
  }
  return caffe::WriteSolverState(state);
}

Sidecar Trainer::MakeSidecar(std::vector<nn::ConvChoice> convolutions) const {
  Sidecar sidecar{.iteration = iteration(),
                  .seed = options_.seed,
                  .batch = options_.batch,
                  .workers = parallel_.workers(),
                  .convolutions = std::move(convolutions),
                  .losses = {losses_.begin(), losses_.end()},
                  .schedule = solver_->schedule_state()};
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

Status Trainer::RestoreHistory(std::string_view file, const caffe::SolverStateFile& state) {
  if (state.history.size() != solver_->histories()) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{}: has {} histories, the solver needs {}: it is the state of another "
                    "network or type of solver",
                    file, state.history.size(), solver_->histories()));
  }
  for (std::size_t i = 0; i < solver_->histories(); ++i) {
    const nn::Param& param = (*params_)[solver_->history_param(i)];
    SHOAL_RETURN_IF_ERROR(
        FromFileBlob(state.history[i], param.spec.layout, solver_->history(i))
            .Annotate(fmt::format("{}: history {}, of layer \"{}\"", file, i, param.spec.layer)));
  }
  return {};
}

Status Trainer::Resume(std::string_view file, const caffe::SolverStateFile& state,
                       const std::optional<Sidecar>& sidecar) {
  SHOAL_RETURN_IF_ERROR(RestoreHistory(file, state));
  if (!sidecar) {
    solver_->Restore(state.iter, {.current_step = state.current_step,
                                  .best_iteration = state.iter_last_event,
                                  .best_loss = state.minimum_loss.value_or(0)});
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
  solver_->Restore(state.iter, sidecar->schedule);
  losses_.assign(sidecar->losses.begin(), sidecar->losses.end());
  start_ = sidecar;
  feeding_ = false;
  return {};
}

}  // namespace shoal::train
