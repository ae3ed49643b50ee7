#include "train/feed.h"

#include <cstring>
#include <utility>
#include <variant>

#include "base/check.h"
#include "caffe/mean_file.h"
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
  SHOAL_ASSIGN_OR_RETURN(feed->source_, data::OpenSource(def));  // Names the layer itself.
  auto mean = ReadMeanImage(def.transform, read);
  if (!mean.ok()) return LayerError(def, mean.status());
  auto transform =
      data::Transform::Create(def.transform, *std::move(mean), options.train, options.seed);
  if (!transform.ok()) return LayerError(def, transform.status());
  data::Record first;
  if (Status status = feed->source_->Read(0, first); !status.ok()) return LayerError(def, status);
  const auto shape = transform->OutputShape(first);
  if (!shape.ok()) return LayerError(def, shape.status());
  feed->transform_ = *std::move(transform);
  feed->shape_ = *shape;
  return feed;
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
  if (from_memory()) return 0;
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

}  // namespace shoal::train
