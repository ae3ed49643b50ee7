#include "pipeline/row_log.h"

#include <gtest/gtest.h>

namespace shoal::pipeline {
namespace {

constexpr std::uint32_t kDim = 4;

// Rows whose numbers say which position they are of, and which try.
wire::Batch MakeBatch(std::uint64_t sequence, std::uint32_t begin, std::uint32_t count,
                      std::uint16_t attempt = 0) {
  wire::Batch batch;
  batch.dim = kDim;
  batch.runs.push_back({.sequence = sequence, .begin = begin, .count = count, .wanted = 1});
  for (std::uint32_t p = begin; p < begin + count; ++p) {
    batch.rows.insert(batch.rows.end(), kDim, static_cast<std::uint16_t>(p + 100 * attempt));
  }
  return batch;
}

TEST(RowLog, KeepsWhatFollows) {
  RowLog log(1 << 20);
  log.Add(MakeBatch(7, 0, 5), 3);
  log.Add(MakeBatch(7, 5, 1), 3);
  const auto rows = log.Find(7, 3, 4, 2);
  ASSERT_EQ(rows.size(), 2 * kDim);
  EXPECT_EQ(rows[0], 4);
  EXPECT_EQ(rows[kDim], 5);
  EXPECT_TRUE(log.Find(7, 3, 4, 3).empty()) << "position 6 has not come";
  EXPECT_TRUE(log.Find(7, 2, 0, 1).empty()) << "another boundary";
  EXPECT_TRUE(log.Find(8, 3, 0, 1).empty());
}

TEST(RowLog, WhatIsMadeAgainReplacesWhatFollowedIt) {
  RowLog log(1 << 20);
  log.Add(MakeBatch(7, 0, 8), 3);
  log.Add(MakeBatch(7, 4, 2, 1), 3);
  EXPECT_EQ(log.Find(7, 3, 4, 2)[0], 104);
  EXPECT_TRUE(log.Find(7, 3, 6, 1).empty()) << "a guess that was wrong";
  EXPECT_EQ(log.bytes(), 6 * kDim * 2);
}

TEST(RowLog, AGapOrOtherLayersBeginAnew) {
  RowLog log(1 << 20);
  log.Add(MakeBatch(7, 0, 4), 3);
  log.Add(MakeBatch(7, 6, 1), 3);
  EXPECT_TRUE(log.Find(7, 3, 0, 1).empty());
  log.Add(MakeBatch(7, 0, 4), 3);
  log.Add(MakeBatch(7, 4, 1), 5);
  EXPECT_TRUE(log.Find(7, 3, 0, 1).empty());
  EXPECT_TRUE(log.Find(7, 5, 4, 1).empty());
  EXPECT_EQ(log.bytes(), 0U);
}

TEST(RowLog, ForgetsWhatIsOverFirst) {
  RowLog log(12 * kDim * 2);
  log.Add(MakeBatch(1, 0, 4), 3);
  log.Add(MakeBatch(2, 0, 4), 3);
  wire::Batch last = MakeBatch(3, 0, 4);
  last.over = {2};
  log.Add(last, 3);
  EXPECT_FALSE(log.Find(2, 3, 0, 4).empty()) << "there is room";
  log.Add(MakeBatch(4, 0, 4), 3);
  EXPECT_TRUE(log.Find(2, 3, 0, 4).empty());
  EXPECT_FALSE(log.Find(1, 3, 0, 4).empty());
  log.Add(MakeBatch(4, 4, 1), 3);
  EXPECT_TRUE(log.Find(1, 3, 0, 4).empty()) << "the one that has waited longest";
  EXPECT_LE(log.bytes(), 12 * kDim * 2);
}

}  // namespace
}  // namespace shoal::pipeline
