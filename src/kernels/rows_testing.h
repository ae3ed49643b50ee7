// What the tests of kernels on rows share: matrices with a gap between rows, and comparisons.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernel_testing.h"
#include "kernels/rows.h"

namespace shoal::kernels {

// Around zero, of about unit size, in steps that arithmetic keeps well.
inline std::vector<float> NormalFloats(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

// A matrix whose rows lie `gap` floats further apart than they are long. What lies between them
// is checked to be left alone.
class TestRows {
 public:
  TestRows(std::size_t rows, std::size_t channels, std::size_t gap, std::uint64_t seed)
      : rows_(rows), channels_(channels), stride_(channels + gap) {
    data_.assign(rows * stride_ + gap, kGap);
    const std::vector<float> values = NormalFloats(rows * channels, seed);
    for (std::size_t i = 0; i < values.size(); ++i) at(i / channels, i % channels) = values[i];
  }

  Rows get() { return {data_.data(), rows_, channels_, stride_}; }
  ConstRows get() const { return {data_.data(), rows_, channels_, stride_}; }
  float& at(std::size_t row, std::size_t channel) { return data_[row * stride_ + channel]; }
  float at(std::size_t row, std::size_t channel) const { return data_[row * stride_ + channel]; }
  std::size_t rows() const { return rows_; }
  std::size_t channels() const { return channels_; }
  const std::vector<float>& data() const { return data_; }

  void ExpectGapsUntouched() const {
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const bool inside = i < rows_ * stride_ && i % stride_ < channels_;
      ASSERT_TRUE(inside || data_[i] == kGap) << i;
    }
  }

 private:
  static constexpr float kGap = 12345.0F;
  std::size_t rows_;
  std::size_t channels_;
  std::size_t stride_;
  std::vector<float> data_;
};

// want(row, channel) -> double.
template <class Want>
void ExpectRowsNear(const TestRows& got, const Want& want, double tolerance) {
  for (std::size_t row = 0; row < got.rows(); ++row) {
    for (std::size_t c = 0; c < got.channels(); ++c) {
      const double expected = want(row, c);
      ASSERT_NEAR(got.at(row, c), expected, tolerance * (1 + std::abs(expected)))
          << "row " << row << ", channel " << c;
    }
  }
  got.ExpectGapsUntouched();
}

// run(parallel) -> std::vector<float>: the same bits with one, two and three workers.
template <class Run>
void ExpectSameBitsWithAnyWorkers(const Run& run) {
  TestThreads one(1);
  const std::vector<float> want = run(one);
  for (std::size_t workers = 2; workers <= 3; ++workers) {
    TestThreads threads(workers);
    ExpectSameBits<float>(run(threads), want);
  }
}

}  // namespace shoal::kernels
