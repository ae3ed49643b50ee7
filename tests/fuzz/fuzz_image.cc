// Whatever an image file holds: an image within the limits or a Status. The first byte
// chooses the colours.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "data/image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  namespace sd = shoal::data;
  constexpr std::int64_t kPixelsMax = 1 << 18;  // Small, so that the fuzzer is quick.
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto colors = static_cast<sd::Colors>(data[0] % 3);
  sd::Image image;
  const shoal::Status status = sd::DecodeImage(bytes, colors, image, kPixelsMax);
  if (!status.ok()) {
    SHOAL_CHECK(status.code() == Code::kCorruption || status.code() == Code::kResourceExhausted);
    SHOAL_CHECK(!status.message().empty());
    return 0;
  }
  SHOAL_CHECK(image.height * image.width <= kPixelsMax);
  SHOAL_CHECK(image.channels == 1 || image.channels == 3);
  SHOAL_CHECK(colors != sd::Colors::kColor || image.channels == 3);
  SHOAL_CHECK(colors != sd::Colors::kGray || image.channels == 1);
  SHOAL_CHECK_EQ(image.pixels.size(),
                 static_cast<std::size_t>(image.channels * image.height * image.width));
  return 0;
}
