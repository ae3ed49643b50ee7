#include "llm/int4_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/float16.h"
#include "kernels/kernel_testing.h"
#include "llm/int4_testing.h"
#include "llm/matrix.h"

namespace shoal::llm {
namespace {

constexpr std::size_t kAwqOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};

// Random integers, and both ways to pack them, number by number.
class Packed {
 public:
  Packed(Int4Packing packing, std::size_t rows, std::size_t k, std::size_t group,
         std::uint32_t offset, bool symmetric)
      : rows_(rows), group_(group), groups_((k + group - 1) / group) {
    Random random(rows + k);
    const bool awq = packing == Int4Packing::kAwq;
    q_.resize(k * rows);
    for (std::uint32_t& q : q_) q = static_cast<std::uint32_t>(random.Bits() % 16);
    zero_.resize(groups_ * rows);
    for (std::uint32_t& zero : zero_) {
      zero = symmetric ? 8 : static_cast<std::uint32_t>(random.Bits() % 15 + 1);
    }
    for (std::size_t i = 0; i < groups_ * rows; ++i) {
      scale_.push_back(kernels::F16FromFloat(0.01F + 0.001F * static_cast<float>(i % 50)));
    }
    weights_.resize(k * rows / 8);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t n = 0; n < rows; ++n) {
        if (awq) {
          PutColumn(weights_, i, n, q_[i * rows + n], true);
        } else {
          weights_[i / 8 * rows + n] |= q_[i * rows + n] << (4 * (i % 8));
        }
      }
    }
    zeros_.resize(groups_ * rows / 8);
    for (std::size_t g = 0; g < groups_; ++g) {
      for (std::size_t n = 0; n < rows; ++n) {
        PutColumn(zeros_, g, n, zero_[g * rows + n] - offset, awq);
      }
    }
    matrix_.packing = packing;
    matrix_.rows = rows;
    matrix_.k = k;
    matrix_.group = group;
    matrix_.zero_offset = offset;
    Refer();
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  void SetGroups(std::vector<std::int32_t> group_of) {
    group_of_ = std::move(group_of);
    Refer();
  }

  Int4Matrix& matrix() { return matrix_; }
  std::vector<std::uint16_t>& scale() { return scale_; }

  float Weight(std::size_t n, std::size_t k) const {
    const std::size_t g = group_of_.empty() ? k / group_ : static_cast<std::size_t>(group_of_[k]);
    return kernels::FloatFromF16(scale_[g * rows_ + n]) *
           (static_cast<float>(q_[k * rows_ + n]) - static_cast<float>(zero_[g * rows_ + n]));
  }

 private:
  void PutColumn(std::vector<std::uint32_t>& words, std::size_t row, std::size_t n,
                 std::uint32_t value, bool awq) const {
    std::size_t at = n % 8;
    for (std::size_t i = 0; awq && i < 8; ++i) {
      if (kAwqOrder[i] == n % 8) at = i;
    }
    words[row * (rows_ / 8) + n / 8] |= value << (4 * at);
  }

  void Refer() {
    matrix_.weights = std::as_bytes(std::span<const std::uint32_t>(weights_));
    matrix_.zeros = std::as_bytes(std::span<const std::uint32_t>(zeros_));
    matrix_.scales = std::as_bytes(std::span<const std::uint16_t>(scale_));
    matrix_.input_groups = std::as_bytes(std::span<const std::int32_t>(group_of_));
  }

  std::size_t rows_, group_, groups_;
  std::vector<std::uint32_t> q_, zero_, weights_, zeros_;
  std::vector<std::uint16_t> scale_;
  std::vector<std::int32_t> group_of_;
  Int4Matrix matrix_;
};

// The blocks mean the weights, exactly.
void ExpectSame(Packed& packed, Parallel& parallel, DType dtype) {
  const Int4Matrix& matrix = packed.matrix();
  ASSERT_TRUE(CheckInt4("m", matrix).ok()) << CheckInt4("m", matrix).ToString();
  EXPECT_EQ(BlockTypeOf(matrix), dtype);
  const auto blocks = MakeBlocks("m", matrix, parallel);
  ASSERT_TRUE(blocks.ok()) << blocks.status().ToString();
  EXPECT_EQ(blocks->dtype, dtype);
  const std::vector<float> values = WeightsOf(*blocks);
  ASSERT_EQ(values.size(), matrix.rows * matrix.k);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t j = i % matrix.k;
    const std::size_t k = blocks->order.empty() ? j : blocks->order[j];
    ASSERT_EQ(values[i], packed.Weight(i / matrix.k, k)) << i;
  }
}

TEST(Int4MatrixTest, BlocksMeanTheWeights) {
  kernels::TestThreads threads(3);
  for (const Int4Packing packing : {Int4Packing::kGptq, Int4Packing::kAwq}) {
    for (const std::size_t rows : {8U, 64U, 136U}) {
      for (const std::size_t group : {32U, 128U, 160U}) {  // The last group may be cut.
        Packed packed(packing, rows, 288, group, 0, false);
        ExpectSame(packed, threads, DType::kQ4_1);
        Packed symmetric(packing, rows, 288, group, 1, true);
        ExpectSame(symmetric, threads, DType::kQ4_0);
      }
    }
  }
}

TEST(Int4MatrixTest, InputsInAnyOrder) {
  Serial serial;
  Packed packed(Int4Packing::kGptq, 16, 96, 32, 1, false);
  std::vector<std::int32_t> groups(96);
  for (std::size_t k = 0; k < 96; ++k) groups[k] = static_cast<std::int32_t>(k % 3);
  packed.SetGroups(groups);
  ExpectSame(packed, serial, DType::kQ4_1);
  const auto blocks = MakeBlocks("m", packed.matrix(), serial);
  EXPECT_EQ(blocks->order[1], 3U);
  EXPECT_EQ(blocks->order[32], 1U);

  for (std::size_t k = 0; k < 96; ++k) groups[k] = static_cast<std::int32_t>(k / 32);
  packed.SetGroups(groups);
  EXPECT_TRUE(MakeBlocks("m", packed.matrix(), serial)->order.empty());

  groups[0] = 1;
  packed.SetGroups(groups);
  EXPECT_EQ(MakeBlocks("m", packed.matrix(), serial).status().message(),
            "m.g_idx gives group 0 31 inputs; wanted 32");
  groups[0] = -1;
  packed.SetGroups(groups);
  EXPECT_EQ(MakeBlocks("m", packed.matrix(), serial).status().code(), Code::kCorruption);
}

TEST(Int4MatrixTest, WhatCannotBe) {
  Serial serial;
  Packed packed(Int4Packing::kGptq, 16, 96, 32, 1, false);
  const auto code = [&](const auto& change) {
    Int4Matrix matrix = packed.matrix();
    change(matrix);
    return CheckInt4("m", matrix).code();
  };
  EXPECT_EQ(code([](Int4Matrix& m) { m.group = 16; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](Int4Matrix& m) { m.group = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](Int4Matrix& m) { m.k = 48; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](Int4Matrix& m) { m.rows = 12; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](Int4Matrix& m) { m.weights = m.weights.first(4); }), Code::kCorruption);
  EXPECT_EQ(code([](Int4Matrix& m) { m.zeros = m.zeros.first(4); }), Code::kCorruption);
  EXPECT_EQ(code([](Int4Matrix& m) { m.scale_dtype = DType::kF32; }), Code::kCorruption);
  EXPECT_EQ(code([](Int4Matrix& m) { m.input_groups = m.zeros; }), Code::kCorruption);
  packed.scale()[20] = 0x7c00;  // Infinity.
  EXPECT_EQ(MakeBlocks("m", packed.matrix(), serial).status().message(),
            "m.scales has one that is not finite");
}

// A product with inputs in another order is that with the columns put back.
TEST(Int4MatrixTest, MatrixGathersItsInputs) {
  Serial serial;
  Random random(3);
  const std::vector<std::uint32_t> order = {2, 0, 3, 1};
  std::vector<float> weights(3 * 4);
  std::vector<float> back(3 * 4);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(random.Bits() % 9);
    back[i / 4 * 4 + order[i % 4]] = weights[i];
  }
  const auto make = [&](const std::vector<float>& numbers) {
    return *Matrix::Make("m", DType::kF32, std::as_bytes(std::span<const float>(numbers)), 3, 4,
                         serial);
  };
  Matrix ordered = make(weights);
  ordered.SetInputOrder(order);
  const Matrix plain = make(back);
  Activations x;
  for (const std::size_t rows : {1U, 3U}) {
    std::vector<float> input(rows * 4);
    for (float& value : input) value = static_cast<float>(random.Bits() % 9);
    x.Assign(input, 4);
    std::vector<float> got(rows * 3);
    std::vector<float> want(rows * 3);
    ordered.Apply(x, got, serial);
    plain.Apply(x, want, serial);
    EXPECT_EQ(got, want);
    ordered.Apply(x, got, serial);  // With what was gathered already.
    EXPECT_EQ(got, want);
  }
}

TEST(Int4MatrixTest, MatrixTakesFloatsAnywhere) {
  Serial serial;
  const std::vector<float> numbers = {1, 2, 3, 4};
  std::string bytes(1 + 16, '\0');
  std::memcpy(bytes.data() + 1, numbers.data(), 16);
  const auto matrix = Matrix::Make(
      "m", DType::kF32, std::as_bytes(std::span<const char>(bytes)).subspan(1), 2, 2, serial);
  Activations x;
  const std::vector<float> input = {1, 1};
  x.Assign(input, 2);
  std::vector<float> out(2);
  matrix->Apply(x, out, serial);
  EXPECT_EQ(out, (std::vector<float>{3, 7}));
}

}  // namespace
}  // namespace shoal::llm
