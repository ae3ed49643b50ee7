// Model: a network together with the data that its file asks for, ready to run:
//
//   SHOAL_ASSIGN_OR_RETURN(auto model, Model::Open(network, {.seed = 1}, read));
//   SHOAL_RETURN_IF_ERROR(model->Build({.backward = true}, params, chooser, parallel));
//   SHOAL_RETURN_IF_ERROR(params.Allocate(seed, true));
//   SHOAL_RETURN_IF_ERROR(model->Start({}));
//   for each step: model->FillInputs(), model->net().Forward(i), …
//
// Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "caffe/net_file.h"
#include "data/sample_order.h"
#include "nn/net.h"
#include "nn/param_store.h"
#include "train/feed.h"

namespace shoal::train {

struct BuildOptions {
  bool backward = false;
  std::int64_t batch = 0;     // Instead of the files'; 0: as they say.
  std::size_t bytes_max = 0;  // For the arena; 0: no limit.
  std::uint64_t seed = 0;     // Of random numbers during steps.
};

struct NamedValue {
  std::string name;
  double value = 0;
};

class Model {
 public:
  // Opens the data sets; random crops in the TRAIN phase. Failures name the layer.
  static Result<std::unique_ptr<Model>> Open(caffe::Network network, const FeedOptions& options,
                                             const ReadFile& read);

  const nn::NetDef& def() const { return network_.net; }
  const std::vector<std::unique_ptr<Feed>>& feeds() const { return feeds_; }

  // Of all blobs that bring data, at a batch of so many (0: as the files say).
  std::map<std::string, Shape> InputShapes(std::int64_t batch) const;
  // Images of a step, by the first layer that brings data, or the first input; at least 1.
  std::int64_t Batch(std::int64_t batch) const;
  // What the batches loaded ahead take.
  std::size_t LoaderBytes(std::int64_t batch) const;

  Status Build(const BuildOptions& options, nn::ParamStore& params, nn::ConvChooser& chooser,
               Parallel& parallel);
  // Starts loading: from the beginning, or from one cursor per feed. REQUIRES: built.
  Status Start(std::span<const data::Cursor> cursors);

  // REQUIRES, all below: built and started.
  nn::Net& net() { return *net_; }
  std::int64_t batch() const { return batch_; }
  // Copies the next batch into the inputs; blobs of MemoryData and Input layers are the caller's.
  Status FillInputs();
  // Of each feed: the first sample that no step had.
  std::vector<data::Cursor> cursors() const;
  // Where they stand after so many steps from the beginning.
  std::vector<data::Cursor> CursorsAfter(std::uint64_t steps) const;
  // The results of the last Forward that are a single number: losses, accuracies.
  std::vector<NamedValue> Scalars();

 private:
  explicit Model(caffe::Network network) : network_(std::move(network)) {}

  caffe::Network network_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::unique_ptr<nn::Net> net_;
  std::int64_t batch_override_ = 0;
  std::int64_t batch_ = 0;
};

// Runs `batches` of them forward; the average of each scalar result.
Result<std::vector<NamedValue>> AverageScores(Model& model, std::int64_t batches);

}  // namespace shoal::train
