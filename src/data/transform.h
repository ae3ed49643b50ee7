// Transform: a record becomes input of a network: crop, mirror, minus mean, times scale, in
// floats. What Caffe's data transformer does, with random numbers that belong to the sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "data/record.h"
#include "data/sample_order.h"
#include "data/source_def.h"

namespace shoal::data {

// The average of a data set's images; rows, columns, channels. (Mean files have planes.)
struct MeanImage {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> values{};
};
// From the order of a mean file: channels, rows, columns.
// REQUIRES: planes.size() == channels · height · width.
MeanImage MeanImageFromPlanes(std::int64_t channels, std::int64_t height, std::int64_t width,
                              const std::vector<float>& planes);

struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  bool operator==(const ImageShape&) const = default;
};

// Thread-safe: nothing changes after Create.
class Transform {
 public:
  // `mean` is what def.mean_file holds, if it names a file. `train`: crops are random.
  // kInvalidArgument: the definition contradicts itself.
  static Result<Transform> Create(const TransformDef& def, std::optional<MeanImage> mean,
                                  bool train, std::uint64_t seed);

  // What Apply makes of `record`. kInvalidArgument: it cannot (crop larger than the image,
  // mean of another shape).
  Result<ImageShape> OutputShape(const Record& record) const;

  // Writes rows of pixels whose first channels lie `stride` floats apart; what is between
  // them is left alone. The random choices follow from the seed and `at` alone.
  // REQUIRES: OutputShape(record) is OK; stride >= record.channels.
  void Apply(const Record& record, Cursor at, float* out, std::int64_t stride) const;

 private:
  Transform() = default;
  float MeanOf(std::int64_t channel) const;

  float scale_ = 1;
  bool mirror_ = false;
  std::int64_t crop_ = 0;
  bool train_ = false;
  std::uint64_t seed_ = 0;
  std::optional<MeanImage> mean_;
  std::vector<float> mean_values_;  // Empty, one, or one for each channel.
};

}  // namespace shoal::data
