#include "data/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace shoal::data {
namespace {

std::vector<std::int64_t> Epoch(const SampleOrder& order, std::uint64_t epoch, std::uint64_t size) {
  std::vector<std::int64_t> indices;
  for (std::uint64_t i = 0; i < size; ++i) indices.push_back(order.IndexAt({epoch, i}));
  return indices;
}

TEST(SampleOrder, AsStoredWithoutShuffle) {
  const SampleOrder order(5, false, 1);
  EXPECT_EQ(Epoch(order, 3, 5), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(SampleOrder, EveryEpochHasEverySampleOnce) {
  for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 1000U, 4097U}) {
    const SampleOrder order(static_cast<std::int64_t>(size), true, 7);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int64_t> indices = Epoch(order, epoch, size);
      std::sort(indices.begin(), indices.end());
      std::vector<std::int64_t> all(size);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(indices, all) << size;
    }
  }
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
  const auto a = Epoch(SampleOrder(100, true, 1), 0, 100);
  EXPECT_EQ(a, Epoch(SampleOrder(100, true, 1), 0, 100));
  EXPECT_NE(a, Epoch(SampleOrder(100, true, 1), 1, 100));
  EXPECT_NE(a, Epoch(SampleOrder(100, true, 2), 0, 100));
}

TEST(SampleOrder, EverySampleIsEquallyLikelyEverywhere) {
  constexpr int kSize = 10;
  constexpr int kEpochs = 20000;
  std::vector<int> counts(kSize * kSize);
  const SampleOrder order(kSize, true, 42);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::uint64_t i = 0; i < kSize; ++i) {
      ++counts[i * kSize + static_cast<std::size_t>(order.IndexAt({epoch, i}))];
    }
  }
  double chi2 = 0;
  for (const int count : counts) {
    const double d = count - kEpochs / double{kSize};
    chi2 += d * d / (kEpochs / double{kSize});
  }
  // 81 degrees of freedom: 1 in 10,000 is above 133.
  EXPECT_LT(chi2, 133);
}

TEST(SampleOrder, AdvancesOverEpochs) {
  const SampleOrder order(10, false, 1);
  EXPECT_EQ(order.Advance({2, 7}, 2), (Cursor{2, 9}));
  EXPECT_EQ(order.Advance({2, 7}, 3), (Cursor{3, 0}));
  EXPECT_EQ(order.Advance({2, 7}, 25), (Cursor{5, 2}));
}

TEST(SampleOrder, SkipsBelowTheBound) {
  EXPECT_EQ(SampleOrder(10, false, 1).Start(0), Cursor{});
  bool moved = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Cursor start = SampleOrder(10, false, seed).Start(25);
    EXPECT_LT(start.epoch * 10 + start.position, 25U);
    EXPECT_LT(start.position, 10U);
    moved = moved || start.epoch == 2;
  }
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace shoal::data
