#include "data/import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "data/data_testing.h"
#include "data/image.h"
#include "data/image_files.h"
#include "data/lmdb_source.h"
#include "data/memory_source.h"
#include "data/synth.h"

namespace shoal::data {
namespace {

MemorySource Numbered(int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.push_back(TestRecord(3, 6, 5, i));
  return MemorySource(std::move(records));
}

TEST(Import, RawRecordsComeBackWithTheirMean) {
  const TempDirectory directory;
  std::int64_t last = 0;
  const auto report = Import(Numbered(20), {.path = directory / "db",
                                            .progress = [&](std::int64_t done, std::int64_t total) {
                                              EXPECT_EQ(done, last + 1);
                                              EXPECT_EQ(total, 20);
                                              last = done;
                                            }});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(last, 20);
  EXPECT_EQ(report->records, 20);
  EXPECT_EQ(report->shape, (ImageShape{6, 5, 3}));
  EXPECT_EQ(report->labels.size(), 20U);
  const auto source = LmdbSource::Open(directory / "db");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(*source->reader().Key(7), "00000007");
  double sum = 0;
  for (int i = 0; i < 20; ++i) {
    Record record;
    ASSERT_TRUE(source->Read(i, record).ok());
    EXPECT_EQ(record.bytes, TestRecord(3, 6, 5, i).bytes);
    EXPECT_EQ(record.label, i);
    sum += record.bytes[4];
  }
  EXPECT_FLOAT_EQ(report->mean->values[4], static_cast<float>(sum / 20));
  EXPECT_EQ(report->channel_means.size(), 3U);
}

TEST(Import, ShuffledHasEverythingOnce) {
  const TempDirectory directory;
  const auto report = Import(Numbered(50), {.path = directory / "db", .shuffle = true, .seed = 3});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->labels.size(), 50U);
  const auto source = LmdbSource::Open(directory / "db");
  int moved = 0;
  for (int i = 0; i < 50; ++i) {
    Record record;
    ASSERT_TRUE(source->Read(i, record).ok());
    moved += record.label != i ? 1 : 0;
  }
  EXPECT_GT(moved, 30);
}

TEST(Import, CompressedAndResized) {
  const TempDirectory directory;
  const auto png = Import(Numbered(3), {.path = directory / "png", .store = Store::kPng});
  ASSERT_TRUE(png.ok()) << png.status().ToString();
  Record record;
  ASSERT_TRUE(LmdbSource::Open(directory / "png")->Read(2, record).ok());
  EXPECT_EQ(record.bytes, TestRecord(3, 6, 5, 2).bytes);
  EXPECT_EQ(record.label, 2);
  const auto jpeg =
      Import(Numbered(3),
             {.path = directory / "jpeg", .store = Store::kJpeg, .new_height = 9, .new_width = 8});
  ASSERT_TRUE(jpeg.ok());
  EXPECT_EQ(jpeg->shape, (ImageShape{9, 8, 3}));
  ASSERT_TRUE(LmdbSource::Open(directory / "jpeg")->Read(0, record).ok());
  EXPECT_EQ(record.height, 9);
}

TEST(Import, FilesUntouchedUnderTheirNames) {
  const TempDirectory directory;
  Image image{.channels = 3, .height = 4, .width = 4};
  image.pixels.assign(48, 100);
  const std::string bytes = *EncodeJpeg(image);
  directory.Write("set/a/1.jpg", bytes);
  const auto files = ImageFiles::FromFolder(directory / "set");
  const auto report = Import(*files, {.path = directory / "db", .store = Store::kAsFile});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  const auto source = LmdbSource::Open(directory / "db");
  EXPECT_EQ(*source->reader().Key(0), "00000000_a/1.jpg");
  EXPECT_EQ(**source->ReadEncoded(0), bytes);
  EXPECT_FALSE(Import(Numbered(1), {.path = directory / "x", .store = Store::kAsFile}).ok());
}

TEST(Import, ABrokenImageIsNamedAndNothingIsLeft) {
  const TempDirectory directory;
  const std::string broken = directory.Write("set/a/1.jpg", "\xff\xd8\xff nonsense");
  const auto files = ImageFiles::FromFolder(directory / "set");
  const auto report = Import(*files, {.path = directory / "db", .store = Store::kAsFile});
  EXPECT_EQ(Message(report.status()).find(broken), 0U) << Message(report.status());
  EXPECT_FALSE(std::filesystem::exists(directory / "db"));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"set"}));
}

TEST(Import, RefusesOptionsThatMakeNoSense) {
  const TempDirectory directory;
  const auto code = [&](ImportOptions options) {
    options.path = directory / "db";
    return Import(Numbered(1), options).status().code();
  };
  EXPECT_EQ(code({.new_height = 3}), Code::kInvalidArgument);
  EXPECT_EQ(code({.new_height = 1 << 20, .new_width = 1 << 20}), Code::kInvalidArgument);
  EXPECT_EQ(code({.quality = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.store = Store::kAsFile, .new_height = 3, .new_width = 3}),
            Code::kInvalidArgument);
}

TEST(Import, SeveralSizesHaveNoMeanImage) {
  const TempDirectory directory;
  std::vector<Record> records;
  records.push_back(TestRecord(1, 2, 2, 0));
  records.push_back(TestRecord(1, 2, 3, 0));
  const auto report = Import(MemorySource(std::move(records)), {.path = directory / "db"});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->shape);
  EXPECT_FALSE(report->mean);
  EXPECT_EQ(report->channel_means.size(), 1U);
}

TEST(Synth, TheSameOnEveryMachine) {
  const auto source = SynthSource::Create({.count = 20, .size = 16, .seed = 7});
  ASSERT_TRUE(source.ok());
  Fingerprint fingerprint;
  for (int i = 0; i < 20; ++i) {
    Record record;
    ASSERT_TRUE(source->Read(i, record).ok());
    EXPECT_EQ(record.label, i % 10);
    fingerprint.AddBytes(std::as_bytes(std::span(record.bytes)));
  }
  EXPECT_EQ(fingerprint.value(), 10363492091702315817U);
}

// The nearest of ten averages is right far more often than by chance, far less than always.
TEST(Synth, CanBeLearntButNotByAveraging) {
  const auto train = SynthSource::Create({.count = 500, .size = 16, .seed = 1});
  const auto test = SynthSource::Create({.count = 200, .size = 16, .seed = 2});
  std::vector<std::vector<double>> means(10, std::vector<double>(16 * 16 * 3));
  Record record;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(train->Read(i, record).ok());
    for (std::size_t k = 0; k < record.bytes.size(); ++k) {
      means[static_cast<std::size_t>(record.label)][k] += record.bytes[k] / 50.0;
    }
  }
  int right = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(test->Read(i, record).ok());
    int best = 0;
    double best_distance = 1e30;
    for (int c = 0; c < 10; ++c) {
      double distance = 0;
      for (std::size_t k = 0; k < record.bytes.size(); ++k) {
        const double d = record.bytes[k] - means[static_cast<std::size_t>(c)][k];
        distance += d * d;
      }
      if (distance < best_distance) {
        best = c;
        best_distance = distance;
      }
    }
    right += best == record.label ? 1 : 0;
  }
  EXPECT_GT(right, 60);
  EXPECT_LT(right, 160);
}

TEST(Synth, RefusesWhatItCannotDraw) {
  EXPECT_FALSE(SynthSource::Create({.count = 0}).ok());
  EXPECT_FALSE(SynthSource::Create({.size = 4}).ok());
  EXPECT_FALSE(SynthSource::Create({.channels = 2}).ok());
  EXPECT_FALSE(SynthSource::Create({.classes = 11}).ok());
  EXPECT_EQ(SynthClassNames().size(), 10U);
}

}  // namespace
}  // namespace shoal::data
