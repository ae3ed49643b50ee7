#include "kernels/dot_i8.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

std::vector<std::int8_t> Bytes(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int8_t> bytes(n);
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(random.Between(-128, 127));
  return bytes;
}

TEST(DotI8Test, IsExactOnEveryTarget) {
  for (const std::size_t n : AwkwardLengths()) {
    const std::vector<std::int8_t> x = Bytes(n, n);
    const std::vector<std::int8_t> y = Bytes(n, n + 1);
    std::int64_t want = 0;
    for (std::size_t i = 0; i < n; ++i) want += std::int64_t{x[i]} * y[i];
    for (const Target target : SupportedTargets()) EXPECT_EQ(DotI8(x, y, target), want) << target;
  }
}

TEST(DotI8Test, TheLongestAndLargestStillFits) {
  const std::vector<std::int8_t> x(kDotI8LengthMax, -128);
  const std::vector<std::int8_t> y(kDotI8LengthMax, 127);
  const auto length = static_cast<std::int64_t>(kDotI8LengthMax);
  for (const Target target : SupportedTargets()) {
    EXPECT_EQ(DotI8(x, x, target), length * 128 * 128) << target;
    EXPECT_EQ(DotI8(x, y, target), -length * 128 * 127) << target;
  }
}

TEST(DotI8Test, MatMulIsTheDotProductsOfItsRowsAndColumns) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t k : {1U, 15U, 16U, 33U, 64U, 100U}) {
      for (std::size_t rows = 0; rows <= 9; ++rows) {
        for (std::size_t columns = 0; columns <= 5; ++columns) {
          const std::vector<std::int8_t> w = Bytes(rows * k, k);
          const std::vector<std::int8_t> x = Bytes(columns * k, k + 1);
          std::vector<std::int32_t> y(rows * columns);
          MatMulI8(w, x, k, y, serial, target);
          for (std::size_t i = 0; i < y.size(); ++i) {
            const auto row = std::span(w).subspan(i % rows * k, k);
            const auto column = std::span(x).subspan(i / rows * k, k);
            ASSERT_EQ(y[i], DotI8(row, column, Target::kRef)) << target << ", output " << i;
          }
        }
      }
    }
  }
}

TEST(DotI8Test, ThreadsChangeNothing) {
  const std::size_t k = 1030;
  const std::size_t rows = 70;  // 16 rows a task.
  const std::vector<std::int8_t> w = Bytes(rows * k, 1);
  const std::vector<std::int8_t> x = Bytes(5 * k, 2);
  Serial serial;
  std::vector<std::int32_t> want(5 * rows);
  MatMulI8(w, x, k, want, serial, Target::kRef);
  for (const Target target : SupportedTargets()) {
    for (std::size_t workers = 1; workers <= 4; ++workers) {
      TestThreads threads(workers);
      std::vector<std::int32_t> y(want.size());
      MatMulI8(w, x, k, y, threads, target);
      EXPECT_EQ(y, want) << target;
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
