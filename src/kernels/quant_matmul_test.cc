#include "kernels/quant_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/float16.h"
#include "kernels/kernel_testing.h"
#include "kernels/quant_testing.h"
#include "kernels/rmsnorm.h"

namespace shoal::kernels {
namespace {

std::vector<float> Product(const PackedWeights& w, std::span<const float> x, Parallel& parallel,
                           Target target) {
  QuantizedRows rows;
  rows.Assign(x, w.k(), LayoutOf(w.form()).block, parallel, target);
  std::vector<float> y(w.rows() * rows.rows());
  QuantMatMul(w, rows, y, parallel, target);
  return y;
}

TEST(QuantMatMulTest, IsTheProductOfWhatTheFilesSay) {
  constexpr std::size_t kRows = 13;
  constexpr std::size_t kK = 512;
  Serial serial;
  for (const DType dtype : kPackedTypes) {
    const std::vector<std::byte> blocks = RandomBlocks(dtype, kRows * kK, 3);
    const auto w = PackedWeights::Make(dtype, blocks, kRows, kK, serial);
    ASSERT_TRUE(w.ok());
    const std::vector<float> x = PlainFloats(3 * kK, 5);
    const std::vector<float> y = Product(*w, x, serial, BestTarget());
    QuantizedRows rows;
    const std::size_t block = LayoutOf(w->form()).block;
    rows.Assign(x, kK, block, serial);
    std::vector<float> weights(kRows * kK);
    Dequantize(dtype, blocks, weights);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t r = 0; r < kRows; ++r) {
        double want = 0;
        double size = 0;
        for (std::size_t k = 0; k < kK; ++k) {
          const double term = static_cast<double>(weights[r * kK + k]) * rows.q(c)[k] *
                              static_cast<double>(rows.scales(c)[k / block]);
          want += term;
          size += std::abs(term);
        }
        EXPECT_NEAR(y[c * kRows + r], want, 2e-6 * size) << dtype << " row " << r;
      }
    }
  }
}

TEST(QuantMatMulTest, TargetsThreadsAndColumnsGiveTheSameBits) {
  constexpr std::size_t kRows = 45;
  constexpr std::size_t kK = 768;
  constexpr std::size_t kColumns = 7;
  Serial serial;
  for (const DType dtype : kPackedTypes) {
    const std::vector<std::byte> blocks = RandomBlocks(dtype, kRows * kK, 7);
    const auto w = PackedWeights::Make(dtype, blocks, kRows, kK, serial);
    ASSERT_TRUE(w.ok());
    const std::vector<float> x = PlainFloats(kColumns * kK, 9);
    const std::vector<float> want = Product(*w, x, serial, Target::kRef);
    for (const Target target : SupportedTargets()) {
      for (const std::size_t workers : {1U, 3U}) {
        TestThreads threads(workers);
        ExpectSameBits<float>(Product(*w, x, threads, target), want);
      }
      for (std::size_t c = 0; c < kColumns; ++c) {
        const std::span<const float> one = std::span(x).subspan(c * kK, kK);
        const std::span<const float> column = std::span(want).subspan(c * kRows, kRows);
        ExpectSameBits<float>(Product(*w, one, serial, target), column);
      }
    }
  }
}

// A zero of 8 is what Q4_0 has: the same bits.
TEST(QuantMatMulTest, ZerosOfEightAreQ4_0) {
  constexpr std::size_t kRows = 13;
  constexpr std::size_t kK = 512;
  Serial serial;
  const std::vector<std::byte> blocks = RandomBlocks(DType::kQ4_0, kRows * kK, 3);
  std::vector<std::byte> with_zeros;
  const std::uint16_t eight = F16FromFloat(8);
  for (auto block = blocks.begin(); block != blocks.end(); block += 18) {
    with_zeros.insert(with_zeros.end(), block, block + 2);
    with_zeros.push_back(static_cast<std::byte>(eight & 0xffU));
    with_zeros.push_back(static_cast<std::byte>(eight >> 8U));
    with_zeros.insert(with_zeros.end(), block + 2, block + 18);
  }
  const auto want = PackedWeights::Make(DType::kQ4_0, blocks, kRows, kK, serial);
  const auto got = PackedWeights::MakeWithZeros(with_zeros, kRows, kK, serial);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ(got->form(), PackedForm::kU4x32Zero);
  const std::vector<float> x = PlainFloats(3 * kK, 5);
  for (const Target target : SupportedTargets()) {
    ExpectSameBits<float>(Product(*got, x, serial, target), Product(*want, x, serial, target));
  }
}

TEST(QuantMatMulTest, ZerosAreSubtractedExactly) {
  constexpr std::size_t kRows = 45;
  constexpr std::size_t kK = 288;
  constexpr std::size_t kColumns = 7;
  constexpr std::size_t kBlockBytes = 20;
  Serial serial;
  const std::vector<std::byte> blocks = RandomBlocksWithZeros(kRows * kK, 7);
  const auto w = PackedWeights::MakeWithZeros(blocks, kRows, kK, serial);
  ASSERT_TRUE(w.ok());
  const std::vector<float> x = PlainFloats(kColumns * kK, 9);
  QuantizedRows rows;
  rows.Assign(x, kK, 32, serial);
  std::vector<float> want(kColumns * kRows);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t c = i / kRows;
    for (std::size_t b = 0; b < kK / 32; ++b) {
      const std::byte* block = blocks.data() + (i % kRows * (kK / 32) + b) * kBlockBytes;
      std::uint16_t halves[2];
      std::memcpy(halves, block, sizeof halves);
      int sum = 0;
      for (std::size_t k = 0; k < 32; ++k) {
        const int nibble = std::to_integer<int>(block[4 + k % 16]) >> (k / 16 * 4) & 15;
        sum += (nibble - static_cast<int>(FloatFromF16(halves[1]))) * rows.q(c)[32 * b + k];
      }
      want[i] =
          std::fma(static_cast<float>(sum), FloatFromF16(halves[0]) * rows.scales(c)[b], want[i]);
    }
  }
  for (const Target target : SupportedTargets()) {
    for (const std::size_t workers : {1U, 3U}) {
      TestThreads threads(workers);
      ExpectSameBits<float>(Product(*w, x, threads, target), want);
    }
  }
}

// The largest sums there can be: all weights and activations at their limits.
TEST(QuantMatMulTest, LimitsDoNotOverflow) {
  constexpr std::size_t kK = 512;
  Serial serial;
  for (const DType dtype : kPackedTypes) {
    for (const std::byte fill :
         {std::byte{0x00}, std::byte{0xff}, std::byte{0x80}, std::byte{0x7f}}) {
      const DTypeInfo& info = Info(dtype);
      std::vector<std::byte> blocks(8 * kK / info.block_elements * info.block_bytes, fill);
      const auto [first, second] = HalvesOf(dtype);
      for (std::size_t at = 0; at < blocks.size(); at += info.block_bytes) {
        for (const int offset : {first, second}) {
          const std::uint16_t one = F16FromFloat(1);
          if (offset >= 0) std::memcpy(blocks.data() + at + offset, &one, sizeof one);
        }
      }
      const auto w = PackedWeights::Make(dtype, blocks, 8, kK, serial);
      ASSERT_TRUE(w.ok());
      for (const float value : {1.0F, -1.0F}) {
        const std::vector<float> x(4 * kK, value);
        const std::vector<float> want = Product(*w, x, serial, Target::kRef);
        for (const Target target : SupportedTargets()) {
          ExpectSameBits<float>(Product(*w, x, serial, target), want);
        }
      }
    }
  }
}

TEST(QuantMatMulTest, NanInIsNanOut) {
  constexpr std::size_t kK = 256;
  Serial serial;
  const std::vector<std::byte> blocks = RandomBlocks(DType::kQ4_0, 8 * kK, 11);
  const auto w = PackedWeights::Make(DType::kQ4_0, blocks, 8, kK, serial);
  ASSERT_TRUE(w.ok());
  std::vector<float> x = PlainFloats(kK, 13);
  x[40] = std::numeric_limits<float>::infinity();
  for (const Target target : SupportedTargets()) {
    for (const float y : Product(*w, x, serial, target)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y), 0x7fc00000U);
    }
  }
}

TEST(QuantizedRowsTest, TargetsGiveTheSameBits) {
  Serial serial;
  for (const std::size_t block : {32U, 256U}) {
    const std::vector<float> x = AwkwardFloats(64 * 256, block);
    const std::vector<float> plain = PlainFloats(64 * 256, block);
    for (const std::vector<float>* from : {&x, &plain}) {
      QuantizedRows want;
      want.Assign(*from, 512, block, serial, Target::kRef);
      for (const Target target : SupportedTargets()) {
        QuantizedRows got;
        got.Assign(*from, 512, block, serial, target);
        for (std::size_t row = 0; row < want.rows(); ++row) {
          EXPECT_TRUE(std::equal(want.q(row), want.q(row) + 512, got.q(row)));
          EXPECT_TRUE(
              std::equal(want.sums(row), want.sums(row) + want.sums_a_row(), got.sums(row)));
          EXPECT_EQ(std::memcmp(want.scales(row), got.scales(row), 512 / block * sizeof(float)), 0);
        }
      }
    }
  }
}

TEST(QuantizedRowsTest, NormedRowsAreWhatTwoPassesGive) {
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kK = 1280;
  const std::vector<float> x = PlainFloats(kRows * kK, 1);
  const std::vector<float> weight = PlainFloats(kK, 2);
  for (const std::size_t block : {32U, 256U}) {
    for (const Target target : SupportedTargets()) {
      TestThreads threads(3);
      std::vector<float> normed(x.size());
      RmsNorm(x, weight, 1e-5F, normed, threads, target);
      QuantizedRows want;
      want.Assign(normed, kK, block, threads, target);
      std::vector<float> in_place = x;
      QuantizedRows got;
      got.AssignNormed(in_place, weight, 1e-5F, in_place, block, threads, target);
      ExpectSameBits<float>(in_place, normed);
      ASSERT_EQ(got.rows(), kRows);
      EXPECT_TRUE(std::equal(want.q(0), want.q(kRows), got.q(0)));
      EXPECT_TRUE(std::equal(want.sums(0), want.sums(kRows), got.sums(0)));
      EXPECT_TRUE(std::equal(want.scales(0), want.scales(kRows), got.scales(0)));
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
