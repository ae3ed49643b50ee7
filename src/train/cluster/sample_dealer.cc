#include "train/cluster/sample_dealer.h"

#include <algorithm>
#include <utility>

namespace shoal::train {

SampleDealer::SampleDealer(SamplePool pool, const wire::pb::TrainJob& job)
    : batch_(static_cast<std::size_t>(job.batch())),
      unit_(std::max(static_cast<std::int64_t>(job.unit()), std::int64_t{1})),
      pool_(std::move(pool)),
      kept_(pool_),
      holders_(static_cast<std::int64_t>(job.records())) {}

SampleDealer::Step SampleDealer::Deal(std::span<const std::int64_t> shares,
                                      std::span<const NodeId> workers) {
  Step step;
  step.samples = Give(pool_.Take(batch_), shares, workers);
  SamplePool ahead = pool_;
  step.next = Give(ahead.Take(batch_), shares, workers);
  return step;
}

SampleDealer::Hands SampleDealer::Give(std::span<const Sample> samples,
                                       std::span<const std::int64_t> shares,
                                       std::span<const NodeId> workers) {
  Hands hands;
  std::vector<std::vector<Sample>> parts =
      holders_.Deal(samples, static_cast<std::size_t>(unit_), shares, workers);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    std::vector<std::int64_t> indices;
    for (const Sample& sample : parts[i]) indices.push_back(sample.index);
    holders_.Note(workers[i], indices);
    hands[workers[i]] = std::move(parts[i]);
  }
  return hands;
}

PoolState SampleDealer::Keep() {
  kept_ = pool_;
  return pool_.state();
}

}  // namespace shoal::train
