#include "data/datum.h"

#include <gtest/gtest.h>

#include <string>

#include "data/data_testing.h"
#include "data/image.h"

namespace shoal::data {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Datum, BytesComeBack) {
  const Record record = TestRecord(3, 4, 5, 7);
  Record out;
  ASSERT_TRUE(DecodeDatum(Bytes(EncodeDatum(record)), Colors::kAsStored, out).ok());
  EXPECT_EQ(out.channels, 3);
  EXPECT_EQ(out.height, 4);
  EXPECT_EQ(out.width, 5);
  EXPECT_EQ(out.label, 7);
  EXPECT_EQ(out.bytes, record.bytes);
  EXPECT_TRUE(out.floats.empty());
}

TEST(Datum, HasCaffesFieldNumbersAndPlanes) {
  // Written by hand from Caffe's schema: 1 channels, 2 height, 3 width, 4 data, 5 label.
  const std::string wire("\x08\x02\x10\x01\x18\x02\x22\x04\x0a\x0b\x14\x15\x28\x09", 14);
  Record out;
  ASSERT_TRUE(DecodeDatum(Bytes(wire), Colors::kAsStored, out).ok());
  EXPECT_EQ(out.label, 9);
  // Planes {10, 11} and {20, 21} became pixels.
  EXPECT_EQ(out.bytes, (std::vector<std::uint8_t>{10, 20, 11, 21}));
  EXPECT_EQ(EncodeDatum(out), wire);
}

TEST(Datum, FloatsComeBackPackedOrNot) {
  Record record = TestRecord(2, 2, 2, 1);
  record.bytes.clear();
  record.floats = {0.5F, -1, 2, 3, 4, 5, 6, 1e30F};
  Record out;
  ASSERT_TRUE(DecodeDatum(Bytes(EncodeDatum(record)), Colors::kAsStored, out).ok());
  EXPECT_EQ(out.floats, record.floats);
  EXPECT_TRUE(out.bytes.empty());
  // 6 float_data, packed: 1.0F and 2.0F.
  const std::string packed("\x08\x01\x10\x01\x18\x02\x32\x08\0\0\x80\x3f\0\0\0\x40", 16);
  ASSERT_TRUE(DecodeDatum(Bytes(packed), Colors::kAsStored, out).ok());
  EXPECT_EQ(out.floats, (std::vector<float>{1, 2}));
}

TEST(Datum, CompressedImages) {
  const Image image{
      .channels = 3, .height = 2, .width = 2, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const std::string wire = EncodeDatum(DatumInfo{.label = 3}, *EncodePng(image));
  Record out;
  ASSERT_TRUE(DecodeDatum(Bytes(wire), Colors::kAsStored, out).ok());
  EXPECT_EQ(out.bytes, image.pixels);
  EXPECT_EQ(out.label, 3);
  ASSERT_TRUE(DecodeDatum(Bytes(wire), Colors::kGray, out).ok());
  EXPECT_EQ(out.channels, 1);
  EXPECT_EQ(out.bytes.size(), 4U);
  EXPECT_EQ(*ImageOfDatum(Bytes(wire)), *EncodePng(image));
  EXPECT_TRUE(InspectDatum(Bytes(wire))->encoded);
}

TEST(Datum, BrokenOnesSayWhatIsWrong) {
  Record out;
  const auto decode = [&](std::string_view wire) {
    const Status status = DecodeDatum(Bytes(wire), Colors::kAsStored, out);
    return status.ToString();
  };
  EXPECT_EQ(decode("\xff\xff\xff"), "corruption: not a Datum");
  EXPECT_EQ(decode(""), "corruption: a Datum of 0 x 0 x 0");
  EXPECT_EQ(decode("\x08\x01\x10\x02\x18\x02\x22\x01x"),
            "corruption: a Datum of 1 x 2 x 2 with 1 values");
  EXPECT_EQ(decode("\x08\x01\x10\xff\xff\xff\x7f\x18\xff\xff\xff\x7f"),
            "resource exhausted: a Datum of 1 x 268435455 x 268435455");
  EXPECT_EQ(decode(EncodeDatum(DatumInfo{}, "text")), "corruption: neither JPEG nor PNG");
  EXPECT_EQ(ImageOfDatum(Bytes(EncodeDatum(TestRecord(1, 1, 1, 0)))).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::data
