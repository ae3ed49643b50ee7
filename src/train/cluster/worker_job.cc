#include "train/cluster/worker_job.h"

#include <span>
#include <utility>

#include "base/hash.h"
#include "train/cluster/record_bits.h"
#include "wire/item.h"

namespace shoal::train {
namespace {

// More than a data set has, and less than would overflow anything.
constexpr std::uint64_t kRecordsMax = std::uint64_t{1} << 40U;

std::vector<std::int64_t> IndicesOf(const std::vector<Sample>& samples) {
  std::vector<std::int64_t> indices;
  indices.reserve(samples.size());
  for (const Sample& sample : samples) indices.push_back(sample.index);
  return indices;
}

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
    if (built_ && training_->status.ok()) return TellReady({});
    if (building_) return;  // It will be told when that is done.
    built_ = false;         // What could not be built may work now.
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
  if (!fetcher_.Need({&first, 1}).empty()) return;  // OnPiece comes back here.
  building_ = Run(
      0, {},
      [host = &host_](Training& training) {
        SHOAL_ASSIGN_OR_RETURN(training.learner, host->MakeLearner(training.job, training.cache));
        return Status();
      },
      [this](const Status& status) {
        building_ = false;
        // Flash has lost the record meanwhile.
        if (status.code() == Code::kNotFound && !training_->cache->Has(0)) return Build();
        built_ = true;
        training_->status = status;
        TellReady(status);
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
    ready.set_records(WriteRecordBits(training_->cache->Present()));
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

std::set<std::int64_t> WorkerJob::Need(const std::vector<Sample>& samples) {
  return fetcher_.Need(IndicesOf(samples));
}

void WorkerJob::Prefetch(const std::vector<Sample>& samples) {
  fetcher_.Prefetch(IndicesOf(samples));
}

// --- Computing.

void WorkerJob::Submit(std::uint64_t round, Work work, UniqueFunction<Status(Learner&)> run,
                       UniqueFunction<void(const Status&)> done) {
  Run(
      round, work,
      [run = std::move(run)](Training& training) mutable { return run(*training.learner); },
      std::move(done));
}

bool WorkerJob::Run(std::uint64_t round, Work work, UniqueFunction<Status(Training&)> run,
                    UniqueFunction<void(const Status&)> done) {
  ++runs_;
  // Written on the compute thread, read here after that.
  auto result = std::make_shared<Status>();
  const Status status =
      seams_.executor.Submit({.tag = {.step = round, .epoch = 0},
                              .work = work,
                              .run = [training = training_, result,
                                      run = std::move(run)]() mutable { *result = run(*training); },
                              .done =
                                  [this, alive = std::weak_ptr<int>(alive_), training = training_,
                                   result, done = std::move(done)](JobTag) mutable {
                                    if (alive.expired()) return;
                                    --runs_;
                                    if (training == training_) done(*result);
                                    if (runs_ == 0) hooks_.on_idle();
                                  }});
  if (status.ok()) return true;
  --runs_;
  hooks_.on_trouble(status);
  return false;
}

}  // namespace shoal::train
