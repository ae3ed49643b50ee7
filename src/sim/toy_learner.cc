#include "sim/toy_learner.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/hash.h"

namespace shoal::sim {
namespace {

// From the end, as backward finishes them.
std::array<train::Bucket, 3> BucketsOf(std::size_t parts) {
  return {{{.begin = 120, .end = kToyWeights, .parts = parts - 1},
           {.begin = 40, .end = 120, .parts = parts},
           {.begin = 0, .end = 40, .parts = parts}}};
}

}  // namespace

float ToyGradient(const train::Sample& sample, std::size_t w, float value) {
  const std::uint64_t noise =
      Avalanche(static_cast<std::uint64_t>(sample.index) * 1000003 + sample.at.epoch * 31 + w);
  const auto target = static_cast<float>(noise % 1024) / 512.0F - 1.0F;
  return value - target;
}

std::string ToyNote(std::uint64_t branch, std::uint64_t updates) {
  return std::to_string(branch) + " " + std::to_string(updates);
}

ToyLearner::ToyLearner(double operations_per_sample, OnUpdate on_update, Read read,
                       std::size_t parts)
    : operations_per_sample_(operations_per_sample),
      on_update_(std::move(on_update)),
      read_(std::move(read)),
      parts_(parts),
      buckets_(BucketsOf(parts)) {}

Status ToyLearner::Begin(std::uint64_t /*step*/, std::span<const train::Sample> samples) {
  samples_.assign(samples.begin(), samples.end());
  for (const train::Sample& sample : samples) {
    if (read_) SHOAL_RETURN_IF_ERROR(read_(sample.index));
  }
  return {};
}

Status ToyLearner::ComputePart(std::size_t part) {
  if (part == 0) statistics_[0] += static_cast<float>(samples_.size());
  for (const train::Bucket& bucket : buckets_) {
    if (bucket.parts != part + 1) continue;
    for (std::size_t w = bucket.begin; w < bucket.end; ++w) {
      float sum = 0;
      for (const train::Sample& sample : samples_) sum += ToyGradient(sample, w, weights_[w]);
      local_[w] = sum / static_cast<float>(samples_.size());
    }
  }
  return {};
}

void ToyLearner::Apply(double /*loss*/, std::int64_t /*samples*/) {
  for (std::size_t w = 0; w < kToyWeights; ++w) {
    history_[w] = kToyMomentum * history_[w] + kToyRate * sums_[w];
    weights_[w] -= history_[w];
  }
  ++updates_;
  Fingerprint fingerprint;
  fingerprint.AddBytes(std::as_bytes(std::span(weights_)));
  fingerprint.AddBytes(std::as_bytes(std::span(history_)));
  on_update_(branch_, updates_, fingerprint.value());
}

void ToyLearner::ReadStatistics(std::span<float> out) const {
  std::copy(statistics_.begin(), statistics_.end(), out.begin());
}

void ToyLearner::WriteStatistics(std::span<const float> values) {
  std::copy(values.begin(), values.end(), statistics_.begin());
}

Status ToyLearner::Restore(const std::string& note) {
  std::istringstream stream(note);
  if (stream >> branch_ >> updates_) return {};
  return {Code::kInvalidArgument, "not a note of this learner"};
}

Work ToyLearner::PartWork(std::size_t /*part*/, std::size_t samples) const {
  return {.operations =
              operations_per_sample_ * static_cast<double>(samples) / static_cast<double>(parts_),
          .bytes_moved = 0};
}

}  // namespace shoal::sim
