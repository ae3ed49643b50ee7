#include "data/image.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::data {
namespace {

bool StartsWith(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

// Where an output coordinate falls: between pixels `low` and `high`, `high` weighs
// `weight` / kOne.
struct Tap {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int32_t weight = 0;
};
constexpr std::int32_t kBits = 11;
constexpr std::int32_t kOne = 1 << kBits;

std::vector<Tap> MakeTaps(std::int64_t from, std::int64_t to) {
  std::vector<Tap> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    // (i + 1/2) · from / to - 1/2, in units of 1 / kOne, rounded; never below the first centre.
    const std::int64_t position =
        std::max<std::int64_t>(0, (((2 * i + 1) * from - to) * kOne + to) / (2 * to));
    Tap& tap = taps[static_cast<std::size_t>(i)];
    tap.low = std::min(position >> kBits, from - 1);
    tap.high = std::min(tap.low + 1, from - 1);
    tap.weight = static_cast<std::int32_t>(position & (kOne - 1));
  }
  return taps;
}

// One output row from two input rows.
void ResizeRow(const std::uint8_t* above, const std::uint8_t* below, std::int32_t row_weight,
               std::span<const Tap> columns, std::int64_t channels, std::uint8_t* out) {
  constexpr std::int32_t kHalf = 1 << (2 * kBits - 1);
  for (const Tap& column : columns) {
    const std::int64_t low = column.low * channels;
    const std::int64_t high = column.high * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int32_t top =
          above[low + c] * (kOne - column.weight) + above[high + c] * column.weight;
      const std::int32_t bottom =
          below[low + c] * (kOne - column.weight) + below[high + c] * column.weight;
      *out++ = static_cast<std::uint8_t>(
          (top * (kOne - row_weight) + bottom * row_weight + kHalf) >> (2 * kBits));
    }
  }
}

}  // namespace

namespace internal {

Status Allocate(std::int64_t height, std::int64_t width, std::int64_t channels,
                std::int64_t pixels_max, Image& out) {
  SHOAL_CHECK(height > 0 && width > 0 && channels > 0);
  if (height > pixels_max / width) {
    return Status(Code::kResourceExhausted, "an image of " + std::to_string(width) + " x " +
                                                std::to_string(height) + " pixels is too large");
  }
  out.channels = channels;
  out.height = height;
  out.width = width;
  out.pixels.resize(static_cast<std::size_t>(height * width * channels));
  return {};
}

void ToGray(Image& image) {
  if (image.channels == 1) return;
  const std::size_t pixels = image.pixels.size() / 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* p = &image.pixels[3 * i];
    image.pixels[i] =
        static_cast<std::uint8_t>((p[0] * 1868U + p[1] * 9617U + p[2] * 4899U + 8192U) >> 14U);
  }
  image.pixels.resize(pixels);
  image.channels = 1;
}

}  // namespace internal

Status DecodeImage(std::string_view bytes, Colors colors, Image& out, std::int64_t pixels_max) {
  if (StartsWith(bytes, "\xff\xd8\xff")) {
    return internal::DecodeJpeg(bytes, colors, pixels_max, out);
  }
  if (StartsWith(bytes, "\x89PNG\r\n\x1a\n")) {
    return internal::DecodePng(bytes, colors, pixels_max, out);
  }
  return Status(Code::kCorruption, bytes.empty() ? "no bytes" : "neither JPEG nor PNG");
}

Image Resize(const Image& image, std::int64_t height, std::int64_t width) {
  SHOAL_CHECK(height > 0 && width > 0 && image.height > 0 && image.width > 0);
  if (height == image.height && width == image.width) return image;
  Image out{.channels = image.channels, .height = height, .width = width, .pixels = {}};
  const std::int64_t row_bytes = width * image.channels;
  out.pixels.resize(static_cast<std::size_t>(height * row_bytes));
  const std::vector<Tap> rows = MakeTaps(image.height, height);
  const std::vector<Tap> columns = MakeTaps(image.width, width);
  const std::int64_t from_row_bytes = image.width * image.channels;
  for (std::int64_t y = 0; y < height; ++y) {
    const Tap& row = rows[static_cast<std::size_t>(y)];
    ResizeRow(image.pixels.data() + row.low * from_row_bytes,
              image.pixels.data() + row.high * from_row_bytes, row.weight, columns, image.channels,
              out.pixels.data() + y * row_bytes);
  }
  return out;
}

}  // namespace shoal::data
