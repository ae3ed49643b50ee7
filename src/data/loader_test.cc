#include "data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "data/data_testing.h"
#include "data/memory_source.h"

namespace shoal::data {
namespace {

std::shared_ptr<const RecordSource> Numbered(int count) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.push_back(TestRecord(3, 6, 6, i));
  return std::make_shared<MemorySource>(std::move(records));
}

Transform MakeTransform() {
  return *Transform::Create({.mirror = true, .crop = 4}, std::nullopt, true, 11);
}

std::unique_ptr<BatchLoader> Make(std::shared_ptr<const RecordSource> source,
                                  const LoaderOptions& options) {
  auto loader = BatchLoader::Create(std::move(source), MakeTransform(), options);
  EXPECT_TRUE(loader.ok()) << loader.status().ToString();
  return *std::move(loader);
}

std::vector<float> Labels(const Batch& batch) { return {batch.labels.begin(), batch.labels.end()}; }

// Labels, then pixels.
std::vector<float> Everything(BatchLoader& loader, int batches) {
  std::vector<float> all;
  for (int i = 0; i < batches; ++i) {
    const auto batch = loader.Next();
    EXPECT_TRUE(batch.ok());
    all.insert(all.end(), batch->labels.begin(), batch->labels.end());
    all.insert(all.end(), batch->images.begin(), batch->images.end());
  }
  return all;
}

TEST(BatchLoader, GoesRoundInTheMiddleOfABatch) {
  const auto loader = Make(Numbered(5), {.batch = 3});
  EXPECT_EQ(Labels(*loader->Next()), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(loader->cursor(), (Cursor{0, 3}));
  EXPECT_EQ(Labels(*loader->Next()), (std::vector<float>{3, 4, 0}));
  EXPECT_EQ(loader->cursor(), (Cursor{1, 1}));
  EXPECT_EQ(Labels(*loader->Next()), (std::vector<float>{1, 2, 3}));
}

TEST(BatchLoader, ABatchMayBeLargerThanTheDataSet) {
  const auto loader = Make(Numbered(2), {.batch = 5});
  EXPECT_EQ(Labels(*loader->Next()), (std::vector<float>{0, 1, 0, 1, 0}));
}

TEST(BatchLoader, BatchesHaveTheShapeOfTheTransform) {
  const auto loader = Make(Numbered(5), {.batch = 2, .stride = 4});
  EXPECT_EQ(loader->shape(), (ImageShape{4, 4, 3}));
  const Batch batch = *loader->Next();
  EXPECT_EQ(batch.images.size(), 2U * 4 * 4 * 4);
  EXPECT_EQ(batch.count, 2);
  EXPECT_EQ(batch.stride, 4);
  EXPECT_EQ(batch.images[3], 0);
}

TEST(BatchLoader, ThreadsChangeNothing) {
  for (const bool shuffle : {false, true}) {
    const LoaderOptions options{.batch = 37, .shuffle = shuffle, .seed = 3};
    const std::vector<float> expected = Everything(*Make(Numbered(50), options), 6);
    for (const int threads : {2, 4}) {
      LoaderOptions more = options;
      more.threads = threads;
      more.prefetch = threads;
      EXPECT_EQ(Everything(*Make(Numbered(50), more), 6), expected);
    }
  }
}

TEST(BatchLoader, GoesOnFromACursorWithTheSameBits) {
  const LoaderOptions options{.batch = 7, .shuffle = true, .seed = 3};
  const auto whole = Make(Numbered(20), options);
  Everything(*whole, 4);
  const std::vector<float> expected = Everything(*whole, 4);

  const auto first = Make(Numbered(20), options);
  Everything(*first, 4);
  LoaderOptions resumed = options;
  resumed.start = first->cursor();
  EXPECT_EQ(Everything(*Make(Numbered(20), resumed), 4), expected);
}

// Fails at one record; counts reads.
class Failing final : public RecordSource {
 public:
  explicit Failing(std::int64_t bad) : bad_(bad) {}
  std::int64_t size() const override { return 1000; }
  Status Read(std::int64_t index, Record& out) const override {
    ++reads;
    if (index >= bad_) return Status(Code::kCorruption, "record " + std::to_string(index));
    out = TestRecord(3, 6, 6, static_cast<std::int32_t>(index));
    return {};
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t bad_;
};

TEST(BatchLoader, GivesWhatComesBeforeAFailureAndThenTheFailure) {
  for (const int threads : {1, 3}) {
    const auto loader =
        Make(std::make_shared<Failing>(25), {.batch = 10, .threads = threads, .prefetch = 4});
    EXPECT_TRUE(loader->Next().ok());
    EXPECT_TRUE(loader->Next().ok());
    // The first in the order of samples, whichever thread meets one first.
    EXPECT_EQ(Message(loader->Next().status()), "record 25");
    EXPECT_EQ(Message(loader->Next().status()), "record 25");
    EXPECT_EQ(loader->cursor(), (Cursor{0, 20}));
  }
}

TEST(BatchLoader, ReadsAheadOnlyAsFarAsItMay) {
  const auto source = std::make_shared<Failing>(1000);
  const auto loader = Make(source, {.batch = 10, .threads = 2, .prefetch = 2});
  EXPECT_TRUE(loader->Next().ok());
  EXPECT_TRUE(loader->Next().ok());
  // Two given, of which one is still in use, two ahead; and the one that told the shape.
  EXPECT_LE(source->reads, 41);
}

TEST(BatchLoader, EndsAtAnyMoment) {
  for (int i = 0; i < 50; ++i) {
    const auto loader = Make(Numbered(50), {.batch = 1 + i % 5, .threads = 1 + i % 3});
    for (int k = 0; k < i % 4; ++k) EXPECT_TRUE(loader->Next().ok());
  }
}

TEST(BatchLoader, ImagesOfSeveralSizesNeedACrop) {
  std::vector<Record> records;
  records.push_back(TestRecord(3, 6, 6, 0));
  records.push_back(TestRecord(3, 6, 7, 1));
  const auto source = std::make_shared<MemorySource>(std::move(records));
  const auto whole = Transform::Create({}, std::nullopt, true, 1);
  const auto loader = BatchLoader::Create(source, *whole, {.batch = 2});
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(Message((*loader)->Next().status()),
            "record 1 is 3 x 6 x 7, the first is 3 x 6 x 6: give a crop_size, or images of one "
            "size");
  EXPECT_TRUE(Make(source, {.batch = 2})->Next().ok());
}

TEST(BatchLoader, RefusesOptionsThatMakeNoSense) {
  const auto code = [](const LoaderOptions& options) {
    return BatchLoader::Create(Numbered(5), MakeTransform(), options).status().code();
  };
  EXPECT_EQ(code({.batch = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.threads = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.prefetch = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.stride = 2}), Code::kInvalidArgument);
  EXPECT_EQ(code({.start = {0, 5}}), Code::kInvalidArgument);
  EXPECT_EQ(code({.batch = std::int64_t{1} << 40U}), Code::kResourceExhausted);
  EXPECT_EQ(BatchLoader::Create(std::make_shared<Failing>(0), MakeTransform(), {}).status().code(),
            Code::kCorruption);
}

}  // namespace
}  // namespace shoal::data
