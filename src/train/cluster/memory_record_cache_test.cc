#include "train/cluster/memory_record_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "data/datum.h"

namespace shoal::train {
namespace {

std::string MakeDatum(std::uint8_t pixel) {
  return data::EncodeDatum({.channels = 1,
                            .height = 2,
                            .width = 2,
                            .label = pixel,
                            .bytes = std::vector<std::uint8_t>(4, pixel)});
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(MemoryRecordCache, KeepsWhatItIsGiven) {
  MemoryRecordCache cache(10, 1000, data::Colors::kAsStored);
  EXPECT_EQ(cache.size(), 10);
  data::Record record;
  EXPECT_EQ(cache.Read(3, record).code(), Code::kNotFound);
  EXPECT_EQ(cache.Read(-7, record).code(), Code::kNotFound);
  ASSERT_TRUE(cache.Put(3, BytesOf(MakeDatum(9))).ok());
  ASSERT_TRUE(cache.Put(1, BytesOf(MakeDatum(8))).ok());
  ASSERT_TRUE(cache.Put(3, BytesOf(MakeDatum(7))).ok()) << "stays as it is";
  EXPECT_TRUE(cache.Has(3) && !cache.Has(2) && !cache.Has(10));
  EXPECT_EQ(cache.Present(), (std::vector<std::int64_t>{1, 3}));
  ASSERT_TRUE(cache.Read(3, record).ok());
  EXPECT_EQ(record.label, 9);
  EXPECT_EQ(record.bytes, std::vector<std::uint8_t>(4, 9));
}

TEST(MemoryRecordCache, RefusesWhatCannotBe) {
  MemoryRecordCache cache(10, 1000, data::Colors::kAsStored);
  EXPECT_EQ(cache.Put(10, BytesOf(MakeDatum(1))).code(), Code::kInvalidArgument);
  EXPECT_EQ(cache.Put(-1, BytesOf(MakeDatum(1))).code(), Code::kInvalidArgument);
  EXPECT_EQ(cache.Put(1, BytesOf("\xff\xff\xff")).code(), Code::kCorruption);
  MemoryRecordCache small(10, 3, data::Colors::kAsStored);
  EXPECT_EQ(small.Put(1, BytesOf(MakeDatum(1))).code(), Code::kResourceExhausted);
  EXPECT_TRUE(cache.Present().empty() && small.Present().empty());
}

TEST(MemoryRecordCache, ForgetsTheOldest) {
  const std::string datum = MakeDatum(1);
  MemoryRecordCache cache(100, 5 * datum.size() + 1, data::Colors::kAsStored);
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(cache.Put(19 - i, BytesOf(datum)).ok());
  EXPECT_EQ(cache.Present(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(MemoryRecordCache, NeverForgetsWhatAStepReads) {
  const std::string datum = MakeDatum(1);
  MemoryRecordCache cache(100, 3 * datum.size(), data::Colors::kAsStored);
  const std::vector<std::int64_t> step = {0, 1};
  cache.Hold(step);
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_TRUE(cache.Put(i, BytesOf(datum)).ok());
  EXPECT_EQ(cache.Present(), (std::vector<std::int64_t>{0, 1, 19}));
  const std::vector<std::int64_t> large = {0, 1, 19, 20};
  cache.Hold(large);
  EXPECT_EQ(cache.Put(20, BytesOf(datum)).code(), Code::kResourceExhausted);
  EXPECT_EQ(cache.Present(), (std::vector<std::int64_t>{0, 1, 19}));
  cache.Hold({});
  ASSERT_TRUE(cache.Put(20, BytesOf(datum)).ok());
  EXPECT_EQ(cache.Present(), (std::vector<std::int64_t>{1, 19, 20}));
}

}  // namespace
}  // namespace shoal::train
