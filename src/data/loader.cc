#include "data/loader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "data/load_sample.h"

namespace shoal::data {
namespace {

// Small enough that threads share a small batch, large enough that the lock is not noticed.
constexpr std::int64_t kUnitSamplesMax = 16;
constexpr int kThreadsMax = 64;
constexpr int kPrefetchMax = 64;
constexpr std::int64_t kBatchFloatsMax = std::int64_t{1} << 31U;

std::int64_t UnitSamples(const LoaderOptions& options) {
  return std::clamp<std::int64_t>(options.batch / options.threads, 1, kUnitSamplesMax);
}

Status CheckOptions(const LoaderOptions& options, const ImageShape& shape,
                    std::int64_t source_size) {
  const auto invalid = [](std::string message) {
    return Status(Code::kInvalidArgument, std::move(message));
  };
  if (options.batch < 1) return invalid("batch_size must be at least 1");
  if (options.threads < 1 || options.threads > kThreadsMax) return invalid("1 to 64 threads");
  if (options.prefetch < 1 || options.prefetch > kPrefetchMax) {
    return invalid("1 to 64 batches can be prefetched");
  }
  if (options.stride != 0 && options.stride < shape.channels) {
    return invalid("pixels would overlap");
  }
  if (options.start.position >= static_cast<std::uint64_t>(source_size)) {
    return invalid("the data set has " + std::to_string(source_size) +
                   " records and is to be continued at " + std::to_string(options.start.position) +
                   ": is it another one?");
  }
  const std::int64_t image = shape.height * shape.width * std::max(options.stride, shape.channels);
  if (options.batch > kBatchFloatsMax / image) {
    return Status(Code::kResourceExhausted,
                  "a batch of " + std::to_string(options.batch) + " images is too large");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::Create(std::shared_ptr<const RecordSource> source,
                                                         Transform transform,
                                                         const LoaderOptions& options) {
  Record first;
  SHOAL_RETURN_IF_ERROR(source->Read(0, first));
  SHOAL_ASSIGN_OR_RETURN(const ImageShape shape, transform.OutputShape(first));
  SHOAL_RETURN_IF_ERROR(CheckOptions(options, shape, source->size()));
  std::unique_ptr<BatchLoader> loader(
      new BatchLoader(std::move(source), std::move(transform), options, shape));
  loader->Start();
  return loader;
}

BatchLoader::BatchLoader(std::shared_ptr<const RecordSource> source, Transform transform,
                         const LoaderOptions& options, ImageShape shape)
    : source_(std::move(source)),
      transform_(std::move(transform)),
      options_([&] {
        LoaderOptions filled = options;
        filled.stride = std::max(options.stride, shape.channels);
        return filled;
      }()),
      shape_(shape),
      order_(source_->size(), options.shuffle, options.seed),
      unit_samples_(UnitSamples(options)),
      units_per_batch_((options.batch + unit_samples_ - 1) / unit_samples_),
      slots_(static_cast<std::size_t>(options.prefetch) + 1),
      progress_(slots_.size()) {
  const std::int64_t image = shape_.height * shape_.width * options_.stride;
  for (Slot& slot : slots_) {
    slot.images.resize(static_cast<std::size_t>(options_.batch * image));
    slot.labels.resize(static_cast<std::size_t>(options_.batch));
  }
}

void BatchLoader::Start() {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

BatchLoader::~BatchLoader() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<Batch> BatchLoader::Next() {
  if (!failed_.ok()) return failed_;
  Slot& slot = slots_[SlotOf(given_)];
  {
    MutexLock lock(mutex_);
    released_ = given_;
    work_.notify_all();
    Progress& progress = progress_[SlotOf(given_)];
    while (progress.batch != given_ || progress.units_left > 0) ready_.wait(mutex_);
    failed_ = progress.failure;
  }
  if (!failed_.ok()) return failed_;
  ++given_;
  return Batch{.images = slot.images,
               .labels = slot.labels,
               .shape = shape_,
               .stride = options_.stride,
               .count = options_.batch};
}

void BatchLoader::Work() {
  Record record;
  Unit unit;
  while (TakeUnit(unit)) {
    std::int64_t sample = unit.first;
    Status status;
    for (; sample < unit.last && status.ok(); ++sample) {
      status = LoadSample(unit.batch, sample, record);
    }
    FinishUnit(unit, sample - 1, std::move(status));
  }
}

bool BatchLoader::TakeUnit(Unit& unit) {
  MutexLock lock(mutex_);
  const auto slots = static_cast<std::int64_t>(slots_.size());
  while (!stop_ && next_unit_ / units_per_batch_ >= released_ + slots) work_.wait(mutex_);
  if (stop_) return false;
  unit.batch = next_unit_ / units_per_batch_;
  unit.first = next_unit_ % units_per_batch_ * unit_samples_;
  unit.last = std::min(unit.first + unit_samples_, options_.batch);
  ++next_unit_;
  if (unit.first == 0) {
    progress_[SlotOf(unit.batch)] = {.batch = unit.batch, .units_left = units_per_batch_};
  }
  return true;
}

void BatchLoader::FinishUnit(const Unit& unit, std::int64_t failed_sample, Status failure) {
  MutexLock lock(mutex_);
  Progress& progress = progress_[SlotOf(unit.batch)];
  // The first failure in the order of the samples, whichever thread was quicker.
  if (!failure.ok() && (progress.failure.ok() || failed_sample < progress.failed_sample)) {
    progress.failed_sample = failed_sample;
    progress.failure = std::move(failure);
  }
  if (--progress.units_left == 0) ready_.notify_one();
}

Status BatchLoader::LoadSample(std::int64_t batch, std::int64_t sample, Record& record) {
  const Cursor at =
      order_.Advance(options_.start, SamplesBefore(batch) + static_cast<std::uint64_t>(sample));
  const std::int64_t index = order_.IndexAt(at);
  Slot& slot = slots_[SlotOf(batch)];
  const std::int64_t image = shape_.height * shape_.width * options_.stride;
  const SampleReader reader{*source_, transform_, shape_, options_.stride};
  return reader.Read(index, at, record, slot.images.data() + sample * image,
                     slot.labels[static_cast<std::size_t>(sample)]);
}

}  // namespace shoal::data
