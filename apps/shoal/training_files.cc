#include "shoal/training_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"
#include "caffe/solver_file.h"
#include "data/datum.h"
#include "data/open_source.h"
#include "shoal/rank_check.h"
#include "train/batch_search.h"
#include "train/cluster/job.h"
#include "train/unit.h"
#include "train/weights.h"

namespace shoal {
namespace {

// Messages name every piece of the gradients, and have room for some more than these.
constexpr std::size_t kBucketsMax = 8000;

// As LMDB has it: compressed if it is stored so.
Result<std::string> ReadDatum(const data::RecordSource& source, std::int64_t index) {
  SHOAL_ASSIGN_OR_RETURN(std::optional<std::string> encoded, source.ReadEncoded(index));
  data::Record record;
  SHOAL_RETURN_IF_ERROR(source.Read(index, record));
  if (!encoded) return data::EncodeDatum(record);
  return data::EncodeDatum({.channels = record.channels,
                            .height = record.height,
                            .width = record.width,
                            .label = record.label,
                            .encoded = true},
                           *std::move(encoded));
}

// A name for what a data set holds: its files as they are now, and some of its records, spread over
// it.
Result<std::string> DataId(const data::SourceDef& def, const data::RecordSource& source) {
  constexpr std::int64_t kLooks = 64;
  Fingerprint fingerprint;
  fingerprint.Add(data::StampOf(def));
  fingerprint.Add(static_cast<std::uint64_t>(source.size()));
  for (std::int64_t i = 0; i < kLooks; ++i) {
    SHOAL_ASSIGN_OR_RETURN(const std::string bytes,
                           ReadDatum(source, i * (source.size() - 1) / (kLooks - 1)));
    fingerprint.AddBytes(std::as_bytes(std::span(bytes)));
  }
  return fmt::format("{:016x}", fingerprint.value());
}

Result<std::int64_t> ParseCount(const char* option, const std::string& text) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count >= 1) return count;
  return Status(Code::kInvalidArgument,
                fmt::format("{} '{}': a number of images, or auto", option, text));
}

// Images, so many times.
Result<std::int64_t> Times(std::int64_t images, std::int64_t times) {
  if (images <= train::kStepSamplesMax / times) return images * times;
  return Status(Code::kInvalidArgument, fmt::format("{} times {} images in a step: at most {}",
                                                    times, images, train::kStepSamplesMax));
}

class Opener {
 public:
  Opener(const TrainCommand& command, std::size_t workers, nn::ConvChooser& chooser,
         Parallel& parallel)
      : command_(command),
        workers_(workers),
        chooser_(chooser),
        parallel_(parallel),
        finder_(command.solver) {}

  Result<Training> Open() {
    SHOAL_RETURN_IF_ERROR(ReadTexts());
    SHOAL_RETURN_IF_ERROR(OpenData());
    SHOAL_RETURN_IF_ERROR(ReadOptions());
    SHOAL_RETURN_IF_ERROR(ChooseBatch());
    SHOAL_RETURN_IF_ERROR(MakeLearner());
    SHOAL_RETURN_IF_ERROR(OpenTests());
    SHOAL_RETURN_IF_ERROR(LoadStart());
    return std::move(training_);
  }

 private:
  Status ReadTexts();
  Status OpenData();
  Status ReadOptions();
  Status ChooseBatch();
  Status ChooseUnits(std::int64_t batch);
  Result<std::int64_t> LargestPerDevice();
  Status NeedWorkers(const std::string& option) const;
  std::int64_t ResumedUnit() const;
  Status MakeLearner();
  Status OpenTests();
  Status CheckSidecar() const;
  Status LoadStart();

  const TrainCommand& command_;
  const std::size_t workers_;
  nn::ConvChooser& chooser_;
  Parallel& parallel_;
  FileFinder finder_;
  SolverFiles files_;
  std::optional<SnapshotFiles> snapshot_;
  std::shared_ptr<const data::RecordSource> source_;
  Training training_;
};

Status Opener::ReadTexts() {
  if (!command_.resume.empty()) {
    SHOAL_ASSIGN_OR_RETURN(snapshot_, ReadSnapshot(command_.resume));
    training_.resumed = true;
  }
  const bool starts_from = snapshot_.has_value() || !command_.weights.empty();
  SHOAL_ASSIGN_OR_RETURN(files_,
                         ReadSolverFiles(command_.solver, command_.net, starts_from, finder_));
  training_.warnings = files_.warnings;
  training_.prefix = files_.setup.solver.snapshot_prefix;
  wire::pb::TrainJob& job = training_.job;
  SHOAL_ASSIGN_OR_RETURN(*job.mutable_solver(), ReadWhole(command_.solver));
  SHOAL_ASSIGN_OR_RETURN(const caffe::SolverFile solver,
                         caffe::ParseSolver(command_.solver, job.solver()));
  const std::string& net = command_.net.empty() ? solver.train.path : command_.net;
  if (!net.empty()) {
    SHOAL_ASSIGN_OR_RETURN(*job.mutable_net(), finder_.Read(net));
  }
  job.set_keep_statistics(starts_from || !files_.weights.empty());
  return {};
}

Status Opener::OpenData() {
  const caffe::Network& train = files_.setup.train;
  SHOAL_RETURN_IF_ERROR(train::CheckTrainable(train));
  const data::SourceDef& def = train.sources.front();
  SHOAL_ASSIGN_OR_RETURN(source_, data::OpenSource(def));
  wire::pb::TrainJob& job = training_.job;
  SHOAL_ASSIGN_OR_RETURN(*job.mutable_data_id(), DataId(def, *source_));
  job.set_records(static_cast<std::uint64_t>(source_->size()));
  job.set_shuffle(data::IsShuffled(def));
  const nn::SolverDef& solver = files_.setup.solver;
  job.set_seed(solver.random_seed < 0 ? 1 : static_cast<std::uint64_t>(solver.random_seed));
  if (snapshot_ && snapshot_->sidecar) job.set_seed(snapshot_->sidecar->seed);
  const data::SampleOrder order(source_->size(), job.shuffle(), job.seed());
  training_.pool.next = order.Start(data::RandSkip(def));
  training_.read = [source = source_](std::int64_t index) { return ReadDatum(*source, index); };
  if (def.transform.mean_file.empty()) return {};
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(def.transform.mean_file));
  // By the name that the text has, which finder_ has replaced by a path.
  SHOAL_ASSIGN_OR_RETURN(const train::NetLearnerSetup setup, [&] {
    job.set_batch(1);
    return train::ReadJob(job);
  }());
  auto* file = job.add_files();
  file->set_path(setup.train.sources.front().transform.mean_file);
  file->set_bytes(bytes);
  return {};
}

Status Opener::ReadOptions() {
  const ClusterTrainOptions& over = command_.over;
  wire::pb::TrainJob& job = training_.job;
  // Joined as the links want them; more than the smallest that are ever wanted makes no sense.
  constexpr double kFinestMb = 1;
  const double bucket_mb = over.bucket_mb > 0 ? over.bucket_mb : kFinestMb;
  job.set_bucket_bytes(static_cast<std::uint64_t>(bucket_mb * (1 << 20)));
  job.set_scaled_from(over.scaled_from);
  job.set_warmup(over.warmup);
  job.set_lars(over.lars);
  job.set_momentum_correction(over.momentum_correction);
  job.set_command(TrainedOptions(command_));
  if (over.mode == "sync" && over.period > 1) {
    return {Code::kInvalidArgument, "--period is for --mode local and --mode easgd"};
  }
  job.set_period(std::max<std::uint64_t>(over.period, 1));
  if (over.mode == "local") job.set_mode(wire::pb::TrainJob::LOCAL);
  if (over.mode == "easgd") job.set_mode(wire::pb::TrainJob::ELASTIC);
  if (job.mode() == wire::pb::TrainJob::ELASTIC) {
    // The paper on EASGD: alpha = 0.9 / N, beta = N · alpha.
    SHOAL_RETURN_IF_ERROR(NeedWorkers("--mode easgd"));
    const auto workers = static_cast<double>(workers_);
    job.set_alpha(over.alpha > 0 ? over.alpha : 0.9 / workers);
    job.set_beta(std::min(1.0, job.alpha() * workers));
  }
  const std::int64_t file_iterations = files_.setup.solver.max_iter;
  if (command_.iterations > file_iterations) {
    job.set_max_iter(static_cast<std::uint64_t>(command_.iterations));
  }
  return {};
}

// How many images fit a device that has --memory.
Result<std::int64_t> Opener::LargestPerDevice() {
  if (command_.memory.empty()) {
    return Status(Code::kInvalidArgument,
                  "--batch-per-device auto needs --memory: how much may a device take?");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t bytes, ParseBytes(command_.memory));
  train::FeedOptions options{.train = true, .seed = training_.job.seed()};
  options.source = source_;
  SHOAL_ASSIGN_OR_RETURN(const auto model,
                         train::Model::Open(files_.setup.train, options, finder_.reader()));
  const auto mode = static_cast<train::LearnerMode>(training_.job.mode());
  const bool exact = ChooseUnit(command_, ResumedUnit(), 1) > 0;
  const std::size_t copies = train::ParamCopies(files_.setup.solver, mode, exact);
  return train::LargestBatch(*model, bytes, copies, parallel_);
}

// With --cluster nobody else says how many there will be.
Status Opener::NeedWorkers(const std::string& option) const {
  if (workers_ > 0) return {};
  return {Code::kInvalidArgument, option + " needs --first: how many devices will there be?"};
}

std::int64_t Opener::ResumedUnit() const {
  return snapshot_ && snapshot_->sidecar ? snapshot_->sidecar->unit : 0;
}

Status Opener::ChooseBatch() {
  const nn::SolverDef& solver = files_.setup.solver;
  std::int64_t batch = files_.setup.train.sources.front().batch * solver.iter_size;
  if (snapshot_ && snapshot_->sidecar && snapshot_->sidecar->batch > 0) {
    batch = snapshot_->sidecar->batch;
  }
  if (!command_.batch.empty()) {
    SHOAL_ASSIGN_OR_RETURN(batch, ParseCount("--batch", command_.batch));
  }
  const std::string& per_device = command_.over.batch_per_device;
  if (!per_device.empty()) {
    SHOAL_RETURN_IF_ERROR(NeedWorkers("--batch-per-device"));
    std::int64_t each = 0;
    if (per_device == "auto") {
      SHOAL_ASSIGN_OR_RETURN(each, LargestPerDevice());
    } else {
      SHOAL_ASSIGN_OR_RETURN(each, ParseCount("--batch-per-device", per_device));
    }
    SHOAL_ASSIGN_OR_RETURN(batch, Times(each, static_cast<std::int64_t>(workers_)));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t all,
                         Times(batch, static_cast<std::int64_t>(training_.job.period())));
  training_.job.set_batch(static_cast<std::uint64_t>(all));
  return ChooseUnits(batch);
}

Status Opener::ChooseUnits(std::int64_t batch) {
  const std::int64_t unit = ChooseUnit(command_, ResumedUnit(), batch);
  if (unit == 0) return {};
  SHOAL_RETURN_IF_ERROR(train::CheckUnit(unit, batch));
  if (command_.over.f16) {
    return Status(Code::kInvalidArgument, "--exact and --f16: 16 bits cannot be exact");
  }
  if (batch / unit < static_cast<std::int64_t>(workers_)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("--exact: a batch of {} has {} units of {} images, fewer than {} "
                              "devices: choose a smaller --unit",
                              batch, batch / unit, unit, workers_));
  }
  training_.job.set_unit(static_cast<std::uint64_t>(unit));
  return {};
}

Status Opener::MakeLearner() {
  SHOAL_ASSIGN_OR_RETURN(train::NetLearnerSetup setup, train::ReadJob(training_.job));
  setup.samples = 1;  // It computes nothing: a small one will do.
  const std::int64_t max_iter = setup.solver.max_iter;
  SHOAL_ASSIGN_OR_RETURN(training_.learner, train::NetLearner::Make(std::move(setup), source_,
                                                                    train::FilesOf(training_.job),
                                                                    chooser_, parallel_));
  if (const std::size_t buckets = training_.learner->buckets().size(); buckets > kBucketsMax) {
    return {Code::kInvalidArgument,
            fmt::format("--bucket-mb {}: the gradients of this network are {} pieces then, and at "
                        "most {} can be added up: choose a larger one",
                        command_.over.bucket_mb, buckets, kBucketsMax)};
  }
  training_.stop = command_.iterations > 0 ? command_.iterations : max_iter;
  return {};
}

Status Opener::OpenTests() {
  const train::FeedOptions options{.train = false, .seed = training_.job.seed(), .threads = 1};
  for (caffe::Network& network : files_.setup.tests) {
    SHOAL_ASSIGN_OR_RETURN(auto test,
                           train::Model::Open(std::move(network), options, finder_.reader()));
    SHOAL_RETURN_IF_ERROR(test->Build({.seed = training_.job.seed()}, training_.learner->params(),
                                      chooser_, parallel_));
    training_.tests.push_back(std::move(test));
  }
  return {};
}

// As a Trainer does. With other test networks those begin anew.
Status Opener::CheckSidecar() const {
  if (!snapshot_ || !snapshot_->sidecar) return {};
  const train::Sidecar& sidecar = *snapshot_->sidecar;
  const auto mismatch = [&](const char* what) {
    return Status(Code::kInvalidArgument, fmt::format("{}: its .shoal.json is of another run: {}",
                                                      snapshot_->state_path, what));
  };
  if (sidecar.iteration != snapshot_->state.iter) return mismatch("another iteration");
  if (sidecar.train.size() != 1) return mismatch("other data layers");
  if (sidecar.tests.size() != training_.tests.size()) return {};
  for (std::size_t i = 0; i < training_.tests.size(); ++i) {
    const std::size_t layers = training_.tests[i]->feeds().size();
    if (sidecar.tests[i].size() != layers) return mismatch("other data layers");
  }
  return {};
}

Status Opener::LoadStart() {
  SHOAL_RETURN_IF_ERROR(CheckSidecar());
  std::vector<std::string> weights = command_.weights.empty() ? files_.weights : command_.weights;
  if (snapshot_) weights = {snapshot_->weights_path};
  for (const std::string& path : weights) {
    SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path));
    SHOAL_RETURN_IF_ERROR(training_.learner->LoadWeights(path, bytes));
  }
  const bool cursors =
      snapshot_ && snapshot_->sidecar && snapshot_->sidecar->tests.size() == training_.tests.size();
  for (std::size_t i = 0; i < training_.tests.size(); ++i) {
    if (cursors) {
      SHOAL_RETURN_IF_ERROR(training_.tests[i]->Start(snapshot_->sidecar->tests[i]));
    } else {
      SHOAL_RETURN_IF_ERROR(training_.tests[i]->Start({}));
    }
  }
  if (!snapshot_) return {};
  SHOAL_RETURN_IF_ERROR(
      training_.learner->Resume(snapshot_->state_path, snapshot_->state, snapshot_->sidecar));
  if (!snapshot_->sidecar) {
    const data::SampleOrder order(source_->size(), training_.job.shuffle(), training_.job.seed());
    const std::uint64_t batch = training_.job.batch() / training_.job.period();
    training_.pool.next = order.Advance(training_.pool.next,
                                        static_cast<std::uint64_t>(snapshot_->state.iter) * batch);
    return {};
  }
  training_.pool = {.next = snapshot_->sidecar->train.front(), .owed = snapshot_->sidecar->owed};
  return {};
}

}  // namespace

Result<Training> OpenTraining(const TrainCommand& command, std::size_t workers,
                              nn::ConvChooser& chooser, Parallel& parallel) {
  return Opener(command, workers, chooser, parallel).Open();
}

}  // namespace shoal
