// NetPool: the network of a learner at the batches that it needs just now. A worker's share of a
// batch changes when workers come and go, and a share that does not fit the memory is computed in
// pieces of two sizes; parameters are the same for all of them.
//
// Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/conv_chooser.h"
#include "nn/gradient_buckets.h"
#include "nn/net.h"
#include "nn/param_store.h"
#include "train/model.h"

namespace shoal::train {

// A network, and after how many of its backward steps each stage of the gradients is whole.
struct PooledNet {
  std::int64_t batch = 0;
  std::unique_ptr<nn::Net> net;
  std::vector<std::size_t> stages;
};

class NetPool {
 public:
  struct Options {
    std::size_t bytes_max = 0;  // For the arenas; 0: no limit.
    std::uint64_t seed = 0;     // Of random numbers during steps.
  };

  // All outlive the pool.
  NetPool(const Model& model, const Options& options, nn::ParamStore& params,
          nn::ConvChooser& chooser, Parallel& parallel)
      : model_(model), options_(options), params_(params), chooser_(chooser), parallel_(parallel) {}

  // What stages() of networks are of; those that are there already get theirs.
  void SetPlan(const nn::GradientPlan& plan);

  // Valid until the next call. kResourceExhausted: does not fit.
  Result<PooledNet*> Get(std::int64_t batch);

 private:
  void MakeRoom(std::int64_t batch);

  const Model& model_;
  Options options_;
  nn::ParamStore& params_;
  nn::ConvChooser& chooser_;
  Parallel& parallel_;
  nn::GradientPlan plan_;
  std::vector<PooledNet> nets_;  // The one used last at the end.
};

}  // namespace shoal::train
