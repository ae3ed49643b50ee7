// Import: any data set becomes an LMDB of Datums that Caffe reads too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/record.h"
#include "data/transform.h"

namespace shoal::data {

// How the images are stored.
enum class Store : std::uint8_t {
  kRaw,     // Plain bytes: large, and ready to use.
  kJpeg,    // Compressed again.
  kPng,     // The same, without loss.
  kAsFile,  // The bytes of the image files, untouched.
};

struct ImportOptions {
  std::string path{};  // Where the database will be; nothing may be there.
  Store store = Store::kRaw;
  int quality = 95;             // Of kJpeg.
  std::int64_t new_height = 0;  // Both, or 0: as they are.
  std::int64_t new_width = 0;
  bool shuffle = false;
  std::uint64_t seed = 0;
  // Called now and then, and at the end.
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

struct ImportReport {
  std::int64_t records = 0;
  // As the network will see them. Nothing: several sizes.
  std::optional<ImageShape> shape{};
  std::map<std::int32_t, std::int64_t> labels{};  // How many of each.
  std::vector<float> channel_means{};
  std::optional<MeanImage> mean{};
  std::int64_t bytes = 0;  // Of all Datums.
};

// Every image is decoded once, so that a broken one is found now and not while training. A
// failure leaves nothing behind. Keys are "%08d_name", or "%08d" without a name.
Result<ImportReport> Import(const RecordSource& source, const ImportOptions& options);

}  // namespace shoal::data
