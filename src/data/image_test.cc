#include "data/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/data_testing.h"

namespace shoal::data {
namespace {

// Colours that change slowly, which JPEG keeps well.
Image Smooth(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Image image{.channels = channels, .height = height, .width = width};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        image.pixels.push_back(static_cast<std::uint8_t>(40 + 50 * c + 2 * x + 3 * y));
      }
    }
  }
  return image;
}

int LargestDifference(const Image& a, const Image& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i) {
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

Image Decode(const std::string& bytes, Colors colors) {
  Image image;
  const Status status = DecodeImage(bytes, colors, image);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return image;
}

Status Try(std::string_view bytes) {
  Image image;
  return DecodeImage(bytes, Colors::kAsStored, image);
}

TEST(Image, PngKeepsEveryBit) {
  for (const std::int64_t channels : {1, 3}) {
    const Image image = Smooth(channels, 5, 7);
    const Image out = Decode(*EncodePng(image), Colors::kAsStored);
    EXPECT_EQ(out.channels, channels);
    EXPECT_EQ(out.height, 5);
    EXPECT_EQ(out.width, 7);
    EXPECT_EQ(out.pixels, image.pixels);
  }
}

TEST(Image, JpegKeepsTheColoursAndTheirOrder) {
  for (const std::int64_t channels : {1, 3}) {
    const Image image = Smooth(channels, 17, 23);
    const Image out = Decode(*EncodeJpeg(image), Colors::kAsStored);
    EXPECT_EQ(out.channels, channels);
    EXPECT_LE(LargestDifference(image, out), 6);
  }
}

TEST(Image, ColoursAsAskedFor) {
  const Image blue{.channels = 3, .height = 1, .width = 1, .pixels = {250, 10, 20}};
  for (const std::string& bytes : {*EncodePng(blue), *EncodeJpeg(blue)}) {
    const Image gray = Decode(bytes, Colors::kGray);
    ASSERT_EQ(gray.channels, 1);
    EXPECT_NEAR(gray.pixels[0], 0.114 * 250 + 0.587 * 10 + 0.299 * 20, 2);
  }
  const Image gray{.channels = 1, .height = 1, .width = 1, .pixels = {77}};
  for (const std::string& bytes : {*EncodePng(gray), *EncodeJpeg(gray)}) {
    EXPECT_EQ(Decode(bytes, Colors::kColor).pixels, (std::vector<std::uint8_t>{77, 77, 77}));
  }
}

TEST(Image, BrokenInputSaysWhatIsWrong) {
  EXPECT_EQ(Try("").ToString(), "corruption: no bytes");
  EXPECT_EQ(Try("GIF89a").ToString(), "corruption: neither JPEG nor PNG");
  EXPECT_EQ(Try("\xff\xd8\xff").code(), Code::kCorruption);
  EXPECT_EQ(Try("\x89PNG\r\n\x1a\n").ToString(), "corruption: PNG: ends too early");
}

TEST(Image, HalfAnImageIsAnError) {
  const Image image = Smooth(3, 40, 40);
  for (const std::string& bytes : {*EncodeJpeg(image), *EncodePng(image)}) {
    for (const std::size_t part : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 3}) {
      const Status status = Try(bytes.substr(0, part));
      EXPECT_EQ(status.code(), Code::kCorruption) << part << " of " << bytes.size();
      EXPECT_FALSE(status.message().empty());
    }
  }
}

TEST(Image, AnyDamageEndsInAnImageOrAStatus) {
  const Image image = Smooth(3, 20, 20);
  Random random(1);
  for (const std::string& bytes : {*EncodeJpeg(image), *EncodePng(image)}) {
    for (int i = 0; i < 300; ++i) {
      std::string damaged = bytes;
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      const Status status = Try(damaged);
      EXPECT_TRUE(status.ok() || !status.message().empty());
    }
  }
}

TEST(Image, RefusesWhatIsTooLarge) {
  const Image image = Smooth(1, 10, 11);
  for (const std::string& bytes : {*EncodeJpeg(image), *EncodePng(image)}) {
    Image out;
    EXPECT_TRUE(DecodeImage(bytes, Colors::kAsStored, out, 110).ok());
    const Status status = DecodeImage(bytes, Colors::kAsStored, out, 109);
    EXPECT_EQ(status.ToString(), "resource exhausted: an image of 11 x 10 pixels is too large");
  }
}

TEST(Resize, TheSameSizeIsTheSameImage) {
  const Image image = Smooth(3, 4, 6);
  EXPECT_EQ(Resize(image, 4, 6).pixels, image.pixels);
}

TEST(Resize, WeighsNeighboursByDistanceFromPixelCentres) {
  const Image image{.channels = 1, .height = 1, .width = 2, .pixels = {0, 100}};
  EXPECT_EQ(Resize(image, 1, 4).pixels, (std::vector<std::uint8_t>{0, 25, 75, 100}));
  EXPECT_EQ(Resize(image, 2, 1).pixels, (std::vector<std::uint8_t>{50, 50}));
}

TEST(Resize, KeepsChannelsApartAndFlatImagesFlat) {
  Image image{.channels = 3, .height = 7, .width = 5};
  for (int i = 0; i < 35; ++i) image.pixels.insert(image.pixels.end(), {10, 200, 255});
  for (const auto& [height, width] : {std::pair{3, 11}, std::pair{20, 2}, std::pair{1, 1}}) {
    const Image out = Resize(image, height, width);
    ASSERT_EQ(out.pixels.size(), static_cast<std::size_t>(3 * height * width));
    for (std::size_t i = 0; i < out.pixels.size(); i += 3) {
      EXPECT_EQ(out.pixels[i], 10);
      EXPECT_EQ(out.pixels[i + 1], 200);
      EXPECT_EQ(out.pixels[i + 2], 255);
    }
  }
}

}  // namespace
}  // namespace shoal::data
