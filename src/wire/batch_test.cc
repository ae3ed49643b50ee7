#include "wire/batch.h"

#include <gtest/gtest.h>

namespace shoal::wire {
namespace {

Batch Sample() {
  Batch batch;
  batch.to = NodeId{7};
  batch.epoch = 0x1234567890abcdefU;
  batch.arithmetic = 1;
  batch.step = 42;
  batch.stage = 1;
  batch.last = 2;
  batch.dim = 4;
  batch.runs = {{.sequence = 5, .begin = 0, .count = 2, .wanted = 1},
                {.sequence = 6, .begin = 100, .count = 1, .wanted = 1}};
  batch.over = {3, 4};
  for (std::uint16_t i = 0; i < 12; ++i) batch.rows.push_back(i);
  return batch;
}

TEST(Batch, ComesBackAsItWas) {
  const Frame frame = EncodeBatch(Sample());
  const Result<Batch> batch = DecodeBatch(frame);
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(*batch, Sample());
  EXPECT_EQ(BatchDestination(frame), NodeId{7});
}

TEST(Batch, TheHeadGetsTheRowsItWants) {
  Batch back = Sample();
  back.stage = 3;
  back.rows.resize(back.RowsBack() * back.dim);
  EXPECT_EQ(back.RowsBack(), 2U);
  const Result<Batch> batch = DecodeBatch(EncodeBatch(back));
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(*batch, back);
}

TEST(Batch, EveryCutIsRefused) {
  const Frame frame = EncodeBatch(Sample());
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const Frame cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(DecodeBatch(cut).status().code(), Code::kCorruption) << size;
  }
  Frame longer = frame;
  longer.push_back({});
  EXPECT_EQ(DecodeBatch(longer).status().code(), Code::kCorruption);
}

TEST(Batch, CountsAreNotBelieved) {
  for (const std::size_t at : {40U, 44U, 48U, 52U, 64U, 68U, 72U}) {
    Frame frame = EncodeBatch(Sample());
    for (std::size_t i = 0; i < 4; ++i) frame[at + i] = std::byte{0xff};
    EXPECT_EQ(DecodeBatch(frame).status().code(), Code::kCorruption) << at;
  }
}

TEST(Batch, ASequenceHasOneRun) {
  Batch batch = Sample();
  batch.runs[1].sequence = batch.runs[0].sequence;
  EXPECT_EQ(DecodeBatch(EncodeBatch(batch)).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::wire
