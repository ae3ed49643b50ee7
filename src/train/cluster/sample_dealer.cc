#include "train/cluster/sample_dealer.h"

#include <algorithm>
#include <utility>

#include "train/cluster/sample_runs.h"

namespace shoal::train {
namespace {

// Of a worker: so many take 100 KB of a message.
constexpr std::size_t kRunsMax = 8192;

// Whoever holds what.
std::vector<std::vector<Sample>> DealInOrder(std::span<const Sample> samples, std::size_t unit,
                                             std::span<const std::int64_t> shares) {
  std::vector<std::vector<Sample>> parts;
  for (const std::int64_t share : shares) {
    const std::size_t size = static_cast<std::size_t>(share) * unit;
    const std::span<const Sample> part = samples.first(size);
    parts.emplace_back(part.begin(), part.end());
    samples = samples.subspan(size);
  }
  return parts;
}

}  // namespace

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
  const auto unit = static_cast<std::size_t>(unit_);
  std::vector<std::vector<Sample>> parts = holders_.Deal(samples, unit, shares, workers);
  // A shuffled list falls into single samples: if those are too many for a message, records that
  // somebody else has travel once more.
  const bool too_many = std::any_of(parts.begin(), parts.end(),
                                    [](const auto& part) { return CountRuns(part) > kRunsMax; });
  if (too_many) parts = DealInOrder(samples, unit, shares);
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
