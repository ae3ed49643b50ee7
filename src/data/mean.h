// The average image of a data set: what mean files and mean_value lines hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/record.h"
#include "data/transform.h"

namespace shoal::data {

// Sums are exact for bytes, so the result does not depend on the order.
class MeanAccumulator {
 public:
  void Add(const Record& record);

  std::int64_t count() const { return count_; }
  // Of every pixel. Empty: the images had several numbers of channels, or there were none.
  std::vector<float> ChannelMeans() const;
  // Nothing if the images had several sizes. (A mean file has its values as planes.)
  std::optional<MeanImage> Image() const;

 private:
  std::int64_t count_ = 0;
  ImageShape shape_;  // Of the first image.
  bool one_size_ = true;
  bool one_depth_ = true;
  std::vector<double> sums_;  // Of every element, while the sizes agree.
  std::vector<double> channel_sums_;
  double pixels_ = 0;
};

}  // namespace shoal::data
