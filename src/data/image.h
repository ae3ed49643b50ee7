// Compressed images: JPEG and PNG to pixels and back. What comes out of a decoder is the
// same on every machine for PNG, and for JPEG with the same libjpeg-turbo.
//
// Input comes from anywhere: whatever the bytes are, decoding ends in an image within the
// limits or in a Status that says what is wrong. An image of which a part is missing is an
// error, not a half-gray image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/record.h"

namespace shoal::data {

// Rows, columns, channels; 1 channel, or 3 with blue first.
struct Image {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels{};
};

// A photograph of 64 million pixels becomes 192 MB; nothing above that is decoded.
inline constexpr std::int64_t kImagePixelsMax = std::int64_t{1} << 26U;

// JPEG or PNG, by its first bytes; `out`'s memory is reused. kCorruption: it is neither, or
// broken; kResourceExhausted: more than `pixels_max`.
Status DecodeImage(std::string_view bytes, Colors colors, Image& out,
                   std::int64_t pixels_max = kImagePixelsMax);

// REQUIRES: image.channels is 1 or 3, pixels has the right size, 1 <= quality <= 100.
Result<std::string> EncodeJpeg(const Image& image, int quality = 95);
Result<std::string> EncodePng(const Image& image);

// Bilinear with pixel centres at halves and edges repeated, in integers: the same bits on
// every machine. Shrinking to less than half skips pixels, as Caffe's (OpenCV's) does.
// Any number of channels. REQUIRES: height, width > 0.
Image Resize(const Image& image, std::int64_t height, std::int64_t width);

namespace internal {

// The two formats; `colors` as above.
Status DecodeJpeg(std::string_view bytes, Colors colors, std::int64_t pixels_max, Image& out);
Status DecodePng(std::string_view bytes, Colors colors, std::int64_t pixels_max, Image& out);

// Sets the size and makes room. kResourceExhausted: too many pixels.
Status Allocate(std::int64_t height, std::int64_t width, std::int64_t channels,
                std::int64_t pixels_max, Image& out);

// Three channels to one, by the weights of ITU-R BT.601, which are JPEG's; one stays one.
void ToGray(Image& image);

}  // namespace internal
}  // namespace shoal::data
