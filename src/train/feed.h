// Feed: one layer that brings data, with the data set behind it: says what its blobs look like,
// and fills them before every step.
//
// Belongs to one thread; loading happens on threads of its own (data/loader.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "data/loader.h"
#include "data/record.h"
#include "data/sample_order.h"
#include "data/source_def.h"
#include "data/transform.h"
#include "nn/net.h"
#include "tensor/shape.h"
#include "train/sample.h"

namespace shoal::train {

// The bytes of a file. train/ has no files of its own: the program brings them.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

struct FeedOptions {
  bool train = false;      // Crops and mirrors are random.
  std::uint64_t seed = 0;  // Of these, of shuffling and of rand_skip.
  int threads = 1;         // That load.
  // Records from here instead of from what the layer names. They are then asked for by number
  // (FillWith), and nothing is loaded ahead.
  std::shared_ptr<const data::RecordSource> source = nullptr;
  // What the images of the data set become, where that is known: no record is read to find out.
  std::optional<data::ImageShape> shape = {};
};

class Feed {
 public:
  // Opens the data set and looks at its first image. Failures name the layer.
  static Result<std::unique_ptr<Feed>> Open(const data::SourceDef& def, const FeedOptions& options,
                                            const ReadFile& read);

  const data::SourceDef& def() const { return def_; }
  // Of a MemoryData layer: the program fills its blobs itself.
  bool from_memory() const { return source_ == nullptr; }
  // Images of an epoch; 0 if from_memory().
  std::int64_t size() const { return source_ == nullptr ? 0 : source_->size(); }

  // Of an image as the network gets it.
  const data::ImageShape& shape() const { return shape_; }
  // The shapes of its blobs at a batch of so many.
  void AddShapes(std::int64_t batch, std::map<std::string, Shape>& shapes) const;
  // What the batches loaded ahead take.
  std::size_t LoaderBytes(std::int64_t batch) const;

  // Starts loading: from the beginning, or from `cursor`.
  Status Start(std::int64_t batch, std::optional<data::Cursor> cursor);
  // Where a run that has had `samples` of them stands.
  data::Cursor After(std::uint64_t samples) const;
  // The next sample. REQUIRES: Start was called, or from_memory().
  data::Cursor cursor() const { return loader_ == nullptr ? data::Cursor{} : loader_->cursor(); }

  // Waits for the next batch and copies it into the blobs of `net`. REQUIRES: as cursor().
  Status Fill(nn::Net& net);
  // Fills the blobs of `net` with these samples; the random choices of each follow from its place,
  // so that it is the image that Fill would have given there. kInvalidArgument: the data set has
  // no such record. REQUIRES: not from_memory(); as many as the batch of `net`.
  Status FillWith(nn::Net& net, std::span<const Sample> samples, Parallel& parallel);

 private:
  Feed(const data::SourceDef& def, const FeedOptions& options) : def_(def), options_(options) {}
  Status MakeTransform(const ReadFile& read);
  int Prefetch(std::int64_t batch) const;

  data::SourceDef def_;
  FeedOptions options_;
  std::shared_ptr<const data::RecordSource> source_;
  std::optional<data::Transform> transform_;
  data::ImageShape shape_;
  std::unique_ptr<data::BatchLoader> loader_;
  const nn::Net* filled_ = nullptr;  // Whose blobs these are:
  nn::Blob images_, labels_;
  std::vector<data::Record> scratch_;  // Of FillWith, one per worker.
};

}  // namespace shoal::train
