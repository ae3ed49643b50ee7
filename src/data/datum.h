// Datum: how Caffe stores an image in an LMDB; proto/datum.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "data/record.h"

namespace shoal::data {

// Nothing of ours is larger; a message that says it is, is wrong.
inline constexpr std::int64_t kDatumBytesMax = std::int64_t{256} << 20U;
inline constexpr std::int64_t kDatumElementsMax = std::int64_t{1} << 26U;

// Makes `out` the image in `bytes`, reusing its memory. `colors` is for compressed images
// only, as in Caffe. kCorruption: not a Datum, sizes that do not fit its data, a broken
// image; kResourceExhausted: larger than the limits.
Status DecodeDatum(std::span<const std::byte> bytes, Colors colors, Record& out);

// What a Datum says about itself, without its pixels.
struct DatumInfo {
  std::int64_t channels = 0;  // As written, which for compressed images is often not at all.
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int32_t label = 0;
  bool encoded = false;
  bool floats = false;
};
Result<DatumInfo> InspectDatum(std::span<const std::byte> bytes);

// The pixels as they are. REQUIRES: `record` is well formed (record.h).
std::string EncodeDatum(const Record& record);

// A compressed image of a known size.
std::string EncodeDatum(const DatumInfo& info, std::string image);

// The compressed image itself. kInvalidArgument: the Datum holds none.
Result<std::string> ImageOfDatum(std::span<const std::byte> bytes);

}  // namespace shoal::data
