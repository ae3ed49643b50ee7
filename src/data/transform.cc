#include "data/transform.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"
#include "data/planes.h"

namespace shoal::data {
namespace {

// Divisible by the usual numbers of channels and by a vector's lanes: with a constant count
// and pointers that do not overlap, every compiler makes vector instructions of it.
constexpr std::int64_t kBlock = 48;

template <class T>
void ScaleBlock(const T* __restrict in, const float* __restrict mean, float scale,
                float* __restrict out) {
  for (std::int64_t i = 0; i < kBlock; ++i) {
    out[i] = (static_cast<float>(in[i]) - mean[i]) * scale;
  }
}

// `mean` has one value for each element, or repeats after kBlock (mean_step 0).
template <class T>
void ScaleRow(const T* in, std::int64_t count, const float* mean, std::int64_t mean_step,
              float scale, float* out) {
  std::int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock, mean += mean_step) {
    ScaleBlock(in + i, mean, scale, out + i);
  }
  for (std::int64_t k = 0; i + k < count; ++k) {
    out[i + k] = (static_cast<float>(in[i + k]) - mean[k]) * scale;
  }
}

void ReversePixels(float* row, std::int64_t width, std::int64_t channels, std::int64_t stride) {
  float* left = row;
  float* right = row + (width - 1) * stride;
  for (; left < right; left += stride, right -= stride) {
    for (std::int64_t c = 0; c < channels; ++c) std::swap(left[c], right[c]);
  }
}

std::string Describe(const Record& record) {
  return std::to_string(record.channels) + " x " + std::to_string(record.height) + " x " +
         std::to_string(record.width);
}

// What is cut out of a record, and how it is written.
struct Window {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool mirror = false;
};

// The mean of a window: base[y · row_step + x · pixel_step + c]. Without a mean image the
// steps are 0 and `base` repeats the channels' means up to kBlock.
struct MeanView {
  const float* base = nullptr;
  std::int64_t row_step = 0;
  std::int64_t pixel_step = 0;
};

template <class T>
void Fill(const T* in, const Record& record, const Window& window, const MeanView& mean,
          float scale, float* out, std::int64_t stride) {
  const std::int64_t channels = record.channels;
  const bool blocks = stride == channels && (mean.pixel_step != 0 || kBlock % channels == 0);
  for (std::int64_t y = 0; y < window.height; ++y) {
    const T* from = in + ((window.top + y) * record.width + window.left) * channels;
    const float* row_mean = mean.base + y * mean.row_step;
    float* to = out + y * window.width * stride;
    if (blocks) {
      ScaleRow(from, window.width * channels, row_mean, mean.pixel_step != 0 ? kBlock : 0, scale,
               to);
    } else {
      for (std::int64_t x = 0; x < window.width; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          to[x * stride + c] =
              (static_cast<float>(from[x * channels + c]) - row_mean[x * mean.pixel_step + c]) *
              scale;
        }
      }
    }
    // After the mean, which is subtracted where the pixel was.
    if (window.mirror) ReversePixels(to, window.width, channels, stride);
  }
}

}  // namespace

MeanImage MeanImageFromPlanes(std::int64_t channels, std::int64_t height, std::int64_t width,
                              const std::vector<float>& planes) {
  SHOAL_CHECK_EQ(planes.size(), static_cast<std::size_t>(channels * height * width));
  MeanImage mean{.channels = channels, .height = height, .width = width, .values = {}};
  mean.values.resize(planes.size());
  Interleave(planes.data(), height * width, channels, mean.values.data());
  return mean;
}

Result<Transform> Transform::Create(const TransformDef& def, std::optional<MeanImage> mean,
                                    bool train, std::uint64_t seed) {
  if (mean && !def.mean_values.empty()) {
    return Status(Code::kInvalidArgument, "both mean_file and mean_value are given");
  }
  if (mean && (mean->channels <= 0 || mean->height <= 0 || mean->width <= 0 ||
               mean->values.size() !=
                   static_cast<std::size_t>(mean->channels * mean->height * mean->width))) {
    return Status(Code::kInvalidArgument, "the mean image has not the size that it says");
  }
  if (def.crop < 0) return Status(Code::kInvalidArgument, "crop_size is negative");
  Transform transform;
  transform.scale_ = def.scale;
  transform.mirror_ = def.mirror;
  transform.crop_ = def.crop;
  transform.train_ = train;
  transform.seed_ = seed;
  transform.mean_ = std::move(mean);
  transform.mean_values_ = def.mean_values;
  return transform;
}

Result<ImageShape> Transform::OutputShape(const Record& record) const {
  if (crop_ > record.height || crop_ > record.width) {
    return Status(Code::kInvalidArgument, "crop_size " + std::to_string(crop_) +
                                              " does not fit into an image of " + Describe(record));
  }
  if (mean_ && (mean_->channels != record.channels || mean_->height != record.height ||
                mean_->width != record.width)) {
    return Status(Code::kInvalidArgument, "a mean image of " + std::to_string(mean_->channels) +
                                              " x " + std::to_string(mean_->height) + " x " +
                                              std::to_string(mean_->width) + " for an image of " +
                                              Describe(record));
  }
  if (mean_values_.size() > 1 && mean_values_.size() != static_cast<std::size_t>(record.channels)) {
    return Status(Code::kInvalidArgument, std::to_string(mean_values_.size()) +
                                              " values of mean_value for an image of " +
                                              Describe(record));
  }
  if (crop_ == 0) return ImageShape{record.height, record.width, record.channels};
  return ImageShape{crop_, crop_, record.channels};
}

void Transform::Apply(const Record& record, Cursor at, float* out, std::int64_t stride) const {
  SHOAL_CHECK_GE(stride, record.channels);
  Window window{.height = record.height, .width = record.width};
  // Both numbers of `at` choose the stream, so that no epoch repeats another's crops.
  Random random(Avalanche(seed_) + at.epoch, at.position);
  window.mirror = mirror_ && random.Below(2) == 1;
  if (crop_ > 0) {
    const std::int64_t spare_rows = record.height - crop_;
    const std::int64_t spare_columns = record.width - crop_;
    window.top = train_ ? random.Between(0, spare_rows) : spare_rows / 2;
    window.left = train_ ? random.Between(0, spare_columns) : spare_columns / 2;
    window.height = crop_;
    window.width = crop_;
  }
  std::vector<float> means;
  MeanView mean;
  if (mean_) {
    mean = {
        .base = mean_->values.data() + (window.top * record.width + window.left) * record.channels,
        .row_step = record.width * record.channels,
        .pixel_step = record.channels};
  } else {
    means.resize(static_cast<std::size_t>(std::max(kBlock, record.channels)));
    for (std::size_t i = 0; i < means.size(); ++i) {
      means[i] = MeanOf(static_cast<std::int64_t>(i) % record.channels);
    }
    mean.base = means.data();
  }
  if (record.floats.empty()) {
    Fill(record.bytes.data(), record, window, mean, scale_, out, stride);
  } else {
    Fill(record.floats.data(), record, window, mean, scale_, out, stride);
  }
}

float Transform::MeanOf(std::int64_t channel) const {
  if (mean_values_.empty()) return 0;
  return mean_values_[mean_values_.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

}  // namespace shoal::data
