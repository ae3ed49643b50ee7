#include "train/feed.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"
#include "caffe/mean_file.h"
#include "data/load_sample.h"
#include "data/open_source.h"

namespace shoal::train {
namespace {

// Two batches ahead even out what decoding takes; of large ones, one has to do.
constexpr std::size_t kLargeBatchBytes = std::size_t{16} << 20U;

Result<std::optional<data::MeanImage>> ReadMeanImage(const data::TransformDef& def,
                                                     const ReadFile& read) {
  std::optional<data::MeanImage> image;
  if (def.mean_file.empty()) return image;
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, read(def.mean_file));
  SHOAL_ASSIGN_OR_RETURN(const caffe::Blob mean, caffe::ReadMean(def.mean_file, bytes));
  image = data::MeanImageFromPlanes(mean.shape[0], mean.shape[1], mean.shape[2], mean.values);
  return image;
}

Status LayerError(const data::SourceDef& def, Status status) {
  return std::move(status).Annotate("layer \"" + def.layer + "\"");
}

// The input of that name; a layer may write another blob of the same name in its place.
nn::Blob InputOf(nn::Net& net, const std::string& name) {
  for (const std::size_t value : net.graph().inputs()) {
    if (net.graph().values()[value].name == name) return net.blob(value);
  }
  return {};
}

// The first of several samples that failed, whichever worker was quicker.
struct Failure {
  std::size_t sample = 0;
  Status status = {};
};

void Copy(std::span<const float> from, const nn::Blob& to) {
  if (to.data == nullptr) return;  // Nobody reads it.
  SHOAL_CHECK_EQ(from.size(), to.elements());
  const kernels::Rows rows = to.rows();
  if (rows.channels == rows.stride) {
    std::memcpy(to.data, from.data(), from.size_bytes());
    return;
  }
  for (std::size_t r = 0; r < rows.rows; ++r) {
    std::memcpy(rows.row(r), from.data() + r * rows.channels, rows.channels * sizeof(float));
  }
}

}  // namespace

Result<std::unique_ptr<Feed>> Feed::Open(const data::SourceDef& def, const FeedOptions& options,
                                         const ReadFile& read) {
  std::unique_ptr<Feed> feed(new Feed(def, options));
  if (const auto* memory = std::get_if<data::MemoryDef>(&def.from)) {
    feed->shape_ = {memory->height, memory->width, memory->channels};
    return feed;
  }
  feed->source_ = options.source;
  if (feed->source_ == nullptr) {
    SHOAL_ASSIGN_OR_RETURN(feed->source_, data::OpenSource(def));  // Names the layer itself.
  }
  if (Status status = feed->MakeTransform(read); !status.ok()) return LayerError(def, status);
  return feed;
}

Status Feed::MakeTransform(const ReadFile& read) {
  SHOAL_ASSIGN_OR_RETURN(std::optional<data::MeanImage> mean, ReadMeanImage(def_.transform, read));
  SHOAL_ASSIGN_OR_RETURN(transform_, data::Transform::Create(def_.transform, std::move(mean),
                                                             options_.train, options_.seed));
  if (options_.shape) {
    shape_ = *options_.shape;
    return {};
  }
  data::Record first;
  SHOAL_RETURN_IF_ERROR(source_->Read(0, first));
  SHOAL_ASSIGN_OR_RETURN(shape_, transform_->OutputShape(first));
  return {};
}

void Feed::AddShapes(std::int64_t batch, std::map<std::string, Shape>& shapes) const {
  shapes[def_.data_top] = Shape{batch, shape_.channels, shape_.height, shape_.width};
  if (!def_.label_top.empty()) shapes[def_.label_top] = Shape{batch};
}

int Feed::Prefetch(std::int64_t batch) const {
  const auto floats =
      static_cast<std::size_t>(batch * shape_.channels * shape_.height * shape_.width);
  return floats * sizeof(float) >= kLargeBatchBytes ? 1 : 2;
}

std::size_t Feed::LoaderBytes(std::int64_t batch) const {
  if (from_memory() || options_.source != nullptr) return 0;
  const std::int64_t image = shape_.channels * shape_.height * shape_.width + 1;
  return static_cast<std::size_t>(batch * image * (Prefetch(batch) + 1)) * sizeof(float);
}

data::Cursor Feed::After(std::uint64_t samples) const {
  if (from_memory()) return {};
  const data::SampleOrder order(source_->size(), data::IsShuffled(def_), options_.seed);
  return order.Advance(order.Start(data::RandSkip(def_)), samples);
}

Status Feed::Start(std::int64_t batch, std::optional<data::Cursor> cursor) {
  if (from_memory()) return {};
  loader_ = nullptr;
  auto loader = data::BatchLoader::Create(source_, *transform_,
                                          {.batch = batch,
                                           .shuffle = data::IsShuffled(def_),
                                           .seed = options_.seed,
                                           .start = cursor ? *cursor : After(0),
                                           .threads = options_.threads,
                                           .prefetch = Prefetch(batch)});
  if (!loader.ok()) return LayerError(def_, loader.status());
  loader_ = *std::move(loader);
  return {};
}

Status Feed::Fill(nn::Net& net) {
  if (from_memory()) return {};
  const Result<data::Batch> batch = loader_->Next();
  if (!batch.ok()) return LayerError(def_, batch.status());
  if (filled_ != &net) {
    filled_ = &net;
    images_ = InputOf(net, def_.data_top);
    labels_ = def_.label_top.empty() ? nn::Blob{} : InputOf(net, def_.label_top);
  }
  Copy(batch->images, images_);
  Copy(batch->labels, labels_);
  return {};
}

Status Feed::FillWith(nn::Net& net, std::span<const Sample> samples, Parallel& parallel) {
  for (const Sample& sample : samples) {
    if (sample.index >= 0 && sample.index < size()) continue;
    return LayerError(def_, {Code::kInvalidArgument,
                             "the data set has no record " + std::to_string(sample.index)});
  }
  const nn::Blob images = InputOf(net, def_.data_top);
  const nn::Blob labels = def_.label_top.empty() ? nn::Blob{} : InputOf(net, def_.label_top);
  if (images.data == nullptr) return {};  // Nobody reads it.
  SHOAL_CHECK_EQ(images.shape[0], static_cast<std::int64_t>(samples.size()));
  const auto stride = static_cast<std::int64_t>(images.stride);
  const auto image = static_cast<std::size_t>(shape_.height * shape_.width * stride);
  const data::SampleReader reader{*source_, *transform_, shape_, stride};
  scratch_.resize(parallel.workers());
  std::vector<Failure> failures(parallel.workers());
  parallel.Run(samples.size(), [&](std::size_t i, std::size_t worker) {
    float label = 0;
    Status status = reader.Read(samples[i].index, samples[i].at, scratch_[worker],
                                images.data + i * image, label);
    if (labels.data != nullptr) labels.data[i] = label;
    Failure& failure = failures[worker];
    if (status.ok() || (!failure.status.ok() && failure.sample < i)) return;
    failure = {i, std::move(status)};
  });
  const auto worse = [](const Failure& a, const Failure& b) {
    return a.status.ok() < b.status.ok() || (a.status.ok() == b.status.ok() && a.sample < b.sample);
  };
  const auto first = std::min_element(failures.begin(), failures.end(), worse);
  return first->status.ok() ? Status() : LayerError(def_, first->status);
}

}  // namespace shoal::train
