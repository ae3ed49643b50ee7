#include "data/mean.h"

namespace shoal::data {
namespace {

template <class T>
void AddElements(const std::vector<T>& elements, std::vector<double>& sums) {
  for (std::size_t i = 0; i < elements.size(); ++i) sums[i] += static_cast<double>(elements[i]);
}

template <class T>
void AddChannels(const std::vector<T>& elements, std::vector<double>& sums) {
  for (std::size_t i = 0; i < elements.size();) {
    for (double& sum : sums) sum += static_cast<double>(elements[i++]);
  }
}

}  // namespace

void MeanAccumulator::Add(const Record& record) {
  const ImageShape shape{record.height, record.width, record.channels};
  if (count_++ == 0) {
    shape_ = shape;
    sums_.assign(static_cast<std::size_t>(record.elements()), 0);
    channel_sums_.assign(static_cast<std::size_t>(record.channels), 0);
  }
  one_depth_ = one_depth_ && shape.channels == shape_.channels;
  one_size_ = one_size_ && shape == shape_;
  if (one_depth_) {
    pixels_ += static_cast<double>(record.height * record.width);
    AddChannels(record.bytes, channel_sums_);
    AddChannels(record.floats, channel_sums_);
  }
  if (one_size_) {
    AddElements(record.bytes, sums_);
    AddElements(record.floats, sums_);
  }
}

std::vector<float> MeanAccumulator::ChannelMeans() const {
  std::vector<float> means;
  if (!one_depth_) return means;
  for (const double sum : channel_sums_) means.push_back(static_cast<float>(sum / pixels_));
  return means;
}

std::optional<MeanImage> MeanAccumulator::Image() const {
  if (!one_size_ || count_ == 0) return std::nullopt;
  MeanImage mean{.channels = shape_.channels, .height = shape_.height, .width = shape_.width};
  for (const double sum : sums_) {
    mean.values.push_back(static_cast<float>(sum / static_cast<double>(count_)));
  }
  return mean;
}

}  // namespace shoal::data
