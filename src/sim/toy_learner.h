// ToyLearner: as little of a network as chief and workers need to be tried: a few hundred numbers
// whose gradient depends on the samples and on the numbers themselves, in parts and buckets, with
// momentum. What one device would compute is easily said: see ToyReference.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/cluster/learner.h"

namespace shoal::sim {

inline constexpr std::size_t kToyWeights = 193;
inline constexpr std::size_t kToyParts = 3;
inline constexpr float kToyRate = 0.05F;
inline constexpr float kToyMomentum = 0.5F;

// The gradient of weight `w` with value `value` for the sample.
float ToyGradient(const train::Sample& sample, std::size_t w, float value);

// What Learner::Note says: "2 17".
std::string ToyNote(std::uint64_t branch, std::uint64_t updates);

class ToyLearner final : public train::Learner {
 public:
  // Told of every update: which, on which branch, and the fingerprint of all weights after it. A
  // branch begins when the head goes back to what it has kept; what workers of an old one still
  // compute is nobody's.
  using OnUpdate =
      std::function<void(std::uint64_t branch, std::uint64_t updates, std::uint64_t fingerprint)>;

  // `read`: what a step begins with, for each record. May be empty.
  using Read = std::function<Status(std::int64_t record)>;

  // REQUIRES: at least kToyParts parts; the last two make what there is to make.
  ToyLearner(double operations_per_sample, OnUpdate on_update, Read read = nullptr,
             std::size_t parts = kToyParts);

  std::size_t parts() const override { return parts_; }
  std::span<const train::Bucket> buckets() const override { return buckets_; }
  Status Begin(std::uint64_t step, std::span<const train::Sample> samples) override;
  Status ComputePart(std::size_t part) override;
  double loss() const override { return static_cast<double>(samples_.size()); }
  std::span<const float> local() const override { return local_; }
  std::span<float> sums() override { return sums_; }
  void Apply(double loss, std::int64_t samples) override;

  std::size_t statistics() const override { return statistics_.size(); }
  void ReadStatistics(std::span<float> out) const override;
  void WriteStatistics(std::span<const float> values) override;

  std::vector<std::span<float>> state() override { return {weights_, history_}; }
  std::string Note() const override { return ToyNote(branch_, updates_); }
  Status Restore(const std::string& note) override;

  std::int64_t samples_max() const override { return 1 << 20; }
  Work PartWork(std::size_t part, std::size_t samples) const override;

 private:
  const double operations_per_sample_;
  const OnUpdate on_update_;
  const Read read_;
  const std::size_t parts_;
  const std::array<train::Bucket, 3> buckets_;
  std::uint64_t branch_ = 0;
  std::uint64_t updates_ = 0;
  std::vector<train::Sample> samples_;
  std::array<float, kToyWeights> weights_{};
  std::array<float, kToyWeights> history_{};
  std::array<float, kToyWeights> local_{};
  std::array<float, kToyWeights> sums_{};
  std::array<float, 2> statistics_{};
};

}  // namespace shoal::sim
