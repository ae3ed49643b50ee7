// LossWindow: the losses of the last few iterations, which are shown as their average.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace shoal::train {

class LossWindow {
 public:
  // Of `size` iterations; at least one.
  explicit LossWindow(std::int64_t size)
      : size_(static_cast<std::size_t>(std::max<std::int64_t>(size, 1))) {}

  void Add(double loss) {
    Trim(size_ - 1);  // First, so that the array never grows beyond the window.
    losses_.push_back(loss);
  }
  // From a snapshot, oldest first.
  void Set(std::vector<double> losses) {
    losses_ = std::move(losses);
    Trim(size_);
  }

  bool empty() const { return losses_.empty(); }
  const std::vector<double>& all() const { return losses_; }
  double last() const { return losses_.empty() ? 0 : losses_.back(); }
  double mean() const {
    if (losses_.empty()) return 0;
    return std::accumulate(losses_.begin(), losses_.end(), 0.0) /
           static_cast<double>(losses_.size());
  }

 private:
  void Trim(std::size_t left) {
    if (losses_.size() <= left) return;
    losses_.erase(losses_.begin(), losses_.end() - static_cast<std::ptrdiff_t>(left));
  }

  std::size_t size_;
  std::vector<double> losses_;
};

}  // namespace shoal::train
