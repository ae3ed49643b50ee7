#include "os/flash/record_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "data/datum.h"
#include "os/flash/flash_testing.h"

namespace shoal::os {
namespace {

// Of index and size, so that every record is another one.
std::string MakeDatum(std::int64_t index, std::size_t pixels = 10) {
  return data::EncodeDatum(
      {.channels = 1,
       .height = 1,
       .width = static_cast<std::int64_t>(pixels),
       .label = static_cast<std::int32_t>(index),
       .bytes = std::vector<std::uint8_t>(pixels, static_cast<std::uint8_t>(index + 1))});
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class RecordFileTest : public FlashDirectoryTest {
 protected:
  RecordFileTest() { std::filesystem::create_directories(path_); }

  std::unique_ptr<RecordFile> Open() {
    auto file = RecordFile::Open(options_);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return file.ok() ? *std::move(file) : nullptr;
  }
  std::string FilePath() const {
    return std::filesystem::directory_iterator(path_)->path().string();
  }
  std::string Contents() const { return *ReadFile(FilePath(), 1 << 20); }
  void Overwrite(const std::string& contents) const {
    std::ofstream(FilePath(), std::ios::binary) << contents;
  }
  static void PutAll(RecordFile& file, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(file.Put(i, BytesOf(MakeDatum(i))).ok());
    }
  }
  // Whatever it says that it has, it has, and right; how many that are.
  static int CountRight(const RecordFile& file, std::int64_t count) {
    int right = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      data::Record record;
      const bool has = file.Has(i);
      EXPECT_EQ(has, file.Read(i, record).ok()) << i;
      if (!has) continue;
      EXPECT_EQ(record.label, i);
      EXPECT_EQ(record.bytes, std::vector<std::uint8_t>(10, static_cast<std::uint8_t>(i + 1)));
      ++right;
    }
    return right;
  }

  RecordFile::Options options_{.directory = path_,
                               .id = "cifar10/train",
                               .records = 100,
                               .flash_bytes = 1 << 20,
                               .memory_bytes = 1 << 16};
};

TEST_F(RecordFileTest, RecordsSurvive) {
  {
    const auto file = Open();
    EXPECT_EQ(file->size(), 100);
    EXPECT_TRUE(file->Present().empty());
    PutAll(*file, 5);
    EXPECT_EQ(CountRight(*file, 100), 5);
  }
  const auto file = Open();
  EXPECT_EQ(file->Present(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(CountRight(*file, 100), 5);
  const auto before = std::filesystem::file_size(FilePath());
  PutAll(*file, 5);
  EXPECT_EQ(std::filesystem::file_size(FilePath()), before) << "they are there already";
  PutAll(*file, 6);
  EXPECT_EQ(CountRight(*file, 100), 6);
}

TEST_F(RecordFileTest, RefusesWhatCannotBe) {
  const auto file = Open();
  EXPECT_EQ(file->Put(100, BytesOf(MakeDatum(1))).code(), Code::kInvalidArgument);
  EXPECT_EQ(file->Put(-1, BytesOf(MakeDatum(1))).code(), Code::kInvalidArgument);
  EXPECT_EQ(file->Put(1, BytesOf("\xff\xff\xff")).code(), Code::kCorruption);
  data::Record record;
  EXPECT_EQ(file->Read(-1, record).code(), Code::kNotFound);
  EXPECT_FALSE(file->Has(-1) || file->Has(100));
  EXPECT_EQ(RecordFile::Open(options_).status().code(), Code::kUnavailable) << "one at a time";
  options_.records = 0;
  EXPECT_EQ(RecordFile::Open(options_).status().code(), Code::kInvalidArgument);
  options_.records = 1;
  options_.directory += "/nowhere";
  EXPECT_EQ(RecordFile::Open(options_).status().code(), Code::kNotFound);
}

TEST_F(RecordFileTest, IsOfOneDataSet) {
  { PutAll(*Open(), 3); }
  options_.records = 101;  // The same id cannot be: the file is not used.
  {
    const auto file = Open();
    EXPECT_TRUE(file->Present().empty());
    PutAll(*file, 2);
  }
  options_.id = "another";
  EXPECT_TRUE(Open()->Present().empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_), {}), 2);
  options_.id = "cifar10/train";
  EXPECT_EQ(CountRight(*Open(), 100), 2);
}

TEST_F(RecordFileTest, TornAtEveryByte) {
  { PutAll(*Open(), 4); }
  const std::string whole = Contents();
  const std::size_t entry = 32 + MakeDatum(0).size();
  const std::size_t header = whole.size() - 4 * entry;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    Overwrite(whole.substr(0, cut));
    {
      const auto file = Open();
      const int left = cut < header ? 0 : static_cast<int>((cut - header) / entry);
      ASSERT_EQ(CountRight(*file, 100), left) << cut;
      PutAll(*file, 5);
      ASSERT_EQ(CountRight(*file, 100), 5) << cut;
    }
    ASSERT_EQ(CountRight(*Open(), 100), 5) << cut;
  }
}

TEST_F(RecordFileTest, ABitFlippedAtEveryByte) {
  { PutAll(*Open(), 4); }
  const std::string whole = Contents();
  const std::size_t entry = 32 + MakeDatum(0).size();
  const std::size_t header = whole.size() - 4 * entry;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Overwrite(whole);
    FlipBit(FilePath(), at);
    {
      const auto file = Open();
      const int before = at < header ? 0 : static_cast<int>((at - header) / entry);
      const bool in_bytes = at >= header && (at - header) % entry >= 32;
      // Wrong bytes cost one record, a wrong head those that come after it too.
      ASSERT_EQ(CountRight(*file, 100), in_bytes ? 3 : before) << at;
      PutAll(*file, 4);
      ASSERT_EQ(CountRight(*file, 100), 4) << at;
    }
    ASSERT_EQ(CountRight(*Open(), 100), 4) << at;
  }
}

TEST_F(RecordFileTest, ZerosAfterAPowerCut) {
  { PutAll(*Open(), 4); }
  const std::string whole = Contents();
  Overwrite(whole + std::string(5000, '\0'));
  EXPECT_EQ(CountRight(*Open(), 100), 4);
  EXPECT_EQ(Contents(), whole);
}

TEST_F(RecordFileTest, AFullDiskIsToldOnceAndMemoryGoesOn) {
  const auto file = Open();
  PutAll(*file, 2);
  const std::string before = Contents();
  {
    const FullDisk full(before.size() + 40);
    const Status status = file->Put(2, BytesOf(MakeDatum(2)));
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
    EXPECT_TRUE(file->Put(3, BytesOf(MakeDatum(3))).ok());
  }
  EXPECT_EQ(CountRight(*file, 100), 4);
  EXPECT_EQ(file->Present(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Contents(), before);
}

TEST_F(RecordFileTest, StaysWithinItsBudget) {
  const std::size_t entry = 32 + MakeDatum(0).size();
  options_.flash_bytes = 60 + 10 * entry;
  options_.memory_bytes = 5 * MakeDatum(0).size();
  {
    const auto file = Open();
    PutAll(*file, 100);
    EXPECT_LE(std::filesystem::file_size(FilePath()), options_.flash_bytes);
    std::vector<std::int64_t> kept = file->Present();
    EXPECT_EQ(kept, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 95, 96, 97, 98, 99}));
    EXPECT_EQ(CountRight(*file, 100), 15);
  }
  options_.flash_bytes = 60 + 4 * entry;  // Less than before.
  EXPECT_EQ(CountRight(*Open(), 100), 4);
  EXPECT_LE(std::filesystem::file_size(FilePath()), options_.flash_bytes);
  options_.flash_bytes = 0;
  const auto file = Open();
  EXPECT_TRUE(file->Present().empty());
  EXPECT_TRUE(file->Put(1, BytesOf(MakeDatum(1))).ok());
  EXPECT_TRUE(file->Has(1)) << "in memory";
}

TEST_F(RecordFileTest, ReadsWhileRecordsCome) {
  const auto file = Open();
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      data::Record record;
      for (std::int64_t i = 0; i < 100; ++i) {
        while (!file->Has(i)) std::this_thread::yield();
        EXPECT_TRUE(file->Read(i, record).ok());
        EXPECT_EQ(record.label, i);
      }
    });
  }
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_TRUE(file->Put(i, BytesOf(MakeDatum(i))).ok());
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace shoal::os
