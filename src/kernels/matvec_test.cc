#include "kernels/matvec.h"

#include <gtest/gtest.h>

#include "kernels/convert.h"
#include "kernels/float16.h"
#include "kernels/kernel_testing.h"
#include "kernels/reduce.h"

namespace shoal::kernels {
namespace {

std::vector<std::uint16_t> Narrow(const std::vector<float>& x) {
  std::vector<std::uint16_t> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = F16FromFloat(x[i]);
  return y;
}

// The promise that makes batching and splitting by rows invisible.
TEST(MatVecTest, EachOutputIsTheDotProductOfItsRow) {
  Serial serial;
  for (const std::size_t k : {1U, 15U, 16U, 17U, 100U, 256U}) {
    const std::size_t rows = 13;
    const std::vector<float> w = PlainFloats(rows * k, k);
    const std::vector<float> x = PlainFloats(k, k + 1);
    std::vector<float> y(rows);
    MatVec(w, x, y, serial);
    for (std::size_t r = 0; r < rows; ++r) {
      EXPECT_EQ(y[r], Dot(std::span(w).subspan(r * k, k), x, Target::kRef)) << k << ", row " << r;
    }
  }
}

TEST(MatVecTest, F16WeightsCountAsTheirFloats) {
  Serial serial;
  const std::size_t rows = 9;
  const std::size_t k = 77;
  const std::vector<std::uint16_t> w = Narrow(PlainFloats(rows * k, 1));
  const std::vector<float> x = PlainFloats(k, 2);
  std::vector<float> wide(w.size());
  F32FromF16(w, wide, serial);
  std::vector<float> y(rows);
  std::vector<float> want(rows);
  MatVecF16(w, x, y, serial);
  MatVec(wide, x, want, serial);
  ExpectSameBits<float>(y, want);
}

TEST(MatVecTest, EveryTargetGivesTheSameBits) {
  for (const std::size_t rows : {1U, 7U, 16U}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t k, Parallel& parallel, Target target) {
          std::vector<float> y(2 * rows);
          const std::span<float> both(y);
          const std::vector<float> w = PlainFloats(rows * k, k);
          const std::vector<float> x = PlainFloats(k, k + 1);
          MatVec(w, x, both.first(rows), parallel, target);
          MatVecF16(Narrow(w), x, both.last(rows), parallel, target);
          return y;
        },
        4099);  // Eight rows a task, so two tasks for 16 rows.
  }
}

TEST(MatVecTest, NaNAndInfinityStayInTheirRow) {
  ExpectSameBitsEverywhere(
      [](std::size_t k, Parallel& parallel, Target target) {
        const std::size_t rows = 11;
        std::vector<float> w = PlainFloats(rows * k, k);
        if (k > 0) {
          w[2 * k] = std::bit_cast<float>(0xffc12345U);
          w[3 * k] = std::numeric_limits<float>::infinity();
        }
        std::vector<float> y(rows);
        MatVec(w, PlainFloats(k, k + 1), y, parallel, target);
        return y;
      },
      100);
}

}  // namespace
}  // namespace shoal::kernels
