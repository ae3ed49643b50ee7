#include "train/cluster/worker_job.h"

#include <span>
#include <utility>

#include "base/hash.h"
#include "wire/item.h"

namespace shoal::train {
namespace {

// More than a data set has, and less than would overflow anything.
constexpr std::uint64_t kRecordsMax = std::uint64_t{1} << 40U;

}  // namespace

std::uint64_t ShapeOf(Learner& learner) {
  Fingerprint shape;
  for (const Bucket& bucket : learner.buckets()) {
    shape.Add(bucket.begin);
    shape.Add(bucket.end);
  }
  shape.Add(learner.statistics());
  for (const std::span<float> part : learner.state()) shape.Add(part.size());
  return shape.value();
}

WorkerJob::WorkerJob(const Seams& seams, NodeId head, WorkerHost& host, Hooks hooks)
    : seams_(seams), host_(host), hooks_(std::move(hooks)), fetcher_(seams.network, head) {}

// --- Until it is ready.

void WorkerJob::OnOffer(const wire::pb::TrainOffer& offer) {
  fetcher_.Start(offer.job());
  if (training_ != nullptr && training_->id == offer.job()) {
    if (built_) return TellReady(training_->status);
    if (building_) return;  // It will be told when that is done.
    if (training_->cache != nullptr) return Build();
  } else {
    training_ = std::make_shared<Training>();
    training_->id = offer.job();
    built_ = false;
    building_ = false;
  }
  fetcher_.AskForJob();
}

void WorkerJob::OnJob(const std::string& bytes) {
  wire::pb::TrainJob& job = training_->job;
  if (!job.ParseFromString(bytes) || job.records() == 0 || job.records() > kRecordsMax) {
    return TellReady({Code::kCorruption, "the head's job cannot be read: update one of the two"});
  }
  Result<std::shared_ptr<RecordCache>> cache =
      host_.OpenCache(job.data_id(), static_cast<std::int64_t>(job.records()));
  if (!cache.ok()) return TellReady(cache.status());
  training_->cache = *std::move(cache);
  Build();
}

void WorkerJob::Build() {
  fetcher_.SetCache(training_->cache);
  const std::int64_t first = 0;
  if (!fetcher_.Want({&first, 1}).empty()) return;  // OnPiece comes back here.
  building_ = Run(
      0, {},
      [host = &host_](Training& training) {
        auto learner = host->MakeLearner(training.job, training.cache);
        training.status = learner.status();
        if (learner.ok()) training.learner = *std::move(learner);
      },
      [this] {
        building_ = false;
        built_ = true;
        TellReady(training_->status);
      });
}

void WorkerJob::TellReady(const Status& status) {
  wire::pb::TrainToHead message;
  wire::pb::TrainReady& ready = *message.mutable_ready();
  ready.set_job(training_->id);
  if (!status.ok()) {
    hooks_.say("cannot train: " + status.ToString());
    ready.set_problem(status.ToString());
  } else {
    ready.set_samples_max(static_cast<std::uint64_t>(learner().samples_max()));
    ready.set_shape(ShapeOf(learner()));
    for (const Bucket& bucket : learner().buckets()) ready.add_buckets(bucket.end - bucket.begin);
  }
  hooks_.tell(message);
}

bool WorkerJob::IsReady(const std::string& id) const {
  return built_ && training_->learner != nullptr && training_->id == id;
}

void WorkerJob::OnHeadDown() {
  if (training_ != nullptr) fetcher_.Start(training_->id);
}

void WorkerJob::End() {
  training_.reset();
  built_ = false;
  building_ = false;
}

// --- Records.

std::optional<std::int64_t> WorkerJob::OnPiece(const Frame& frame) {
  if (training_ == nullptr) return {};
  const Result<wire::ItemPiece> piece = wire::DecodeItemPiece(frame);
  if (!piece.ok()) return {};
  const Result<ItemFetcher::Arrival> arrival = fetcher_.OnPiece(*piece);
  if (!arrival.ok()) {
    hooks_.on_trouble(arrival.status());
    return {};
  }
  if (arrival->job) {
    OnJob(*arrival->job);
    return {};
  }
  if (built_) return arrival->record;
  if (training_->cache != nullptr && arrival->record == 0 && !building_) Build();
  return {};
}

std::set<std::int64_t> WorkerJob::Want(const std::vector<Sample>& samples) {
  std::vector<std::int64_t> indices;
  indices.reserve(samples.size());
  for (const Sample& sample : samples) indices.push_back(sample.index);
  return fetcher_.Want(indices);
}

// --- Computing.

void WorkerJob::Submit(std::uint64_t round, Work work, UniqueFunction<Status(Learner&)> run,
                       UniqueFunction<void()> done) {
  Run(
      round, work,
      [run = std::move(run)](Training& training) mutable {
        training.status = run(*training.learner);
      },
      std::move(done));
}

bool WorkerJob::Run(std::uint64_t round, Work work, UniqueFunction<void(Training&)> run,
                    UniqueFunction<void()> done) {
  ++runs_;
  const Status status =
      seams_.executor.Submit({.tag = {.step = round, .epoch = 0},
                              .work = work,
                              .run =
                                  [training = training_, run = std::move(run)]() mutable {
                                    if (training->status.ok()) run(*training);
                                  },
                              .done =
                                  [this, alive = std::weak_ptr<int>(alive_), training = training_,
                                   done = std::move(done)](JobTag) mutable {
                                    if (alive.expired()) return;
                                    --runs_;
                                    if (training == training_) done();
                                    if (runs_ == 0) hooks_.on_idle();
                                  }});
  if (status.ok()) return true;
  --runs_;
  hooks_.on_trouble(status);
  return false;
}

}  // namespace shoal::train
