// Rows: activations as a matrix of pixels by channels, whose rows lie `stride` floats apart. What
// the kernels of layers work on: a blob may be a slice of the channels of a wider one.
//
// For all kernels on Rows: matrices that go together have the same rows and channels; an output is
// one of the inputs or overlaps none, unless said otherwise. Work is cut over `parallel`, results
// do not depend on its number of workers, and nothing is allocated; `target` is for tests. Targets
// agree within rounding, not in bits: these are for training.
#pragma once

#include <cstddef>
#include <span>

#include "base/check.h"

namespace shoal::kernels {

// A value; data may be null where a matrix is optional. REQUIRES: stride >= channels.
struct ConstRows {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t channels = 0;
  std::size_t stride = 0;

  const float* row(std::size_t i) const { return data + i * stride; }
  std::size_t size() const { return rows * channels; }
};

struct Rows {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t channels = 0;
  std::size_t stride = 0;

  operator ConstRows() const {  // NOLINT: implicit, as for pointers
    return {data, rows, channels, stride};
  }
  float* row(std::size_t i) const { return data + i * stride; }
  std::size_t size() const { return rows * channels; }
};

inline ConstRows DenseRows(std::span<const float> data, std::size_t channels) {
  return {data.data(), data.size() / channels, channels, channels};
}
inline Rows DenseRows(std::span<float> data, std::size_t channels) {
  return {data.data(), data.size() / channels, channels, channels};
}

// For arguments that go together. A matrix without data fits all.
inline void CheckSameShape(ConstRows a, ConstRows b) {
  if (a.data == nullptr || b.data == nullptr) return;
  SHOAL_CHECK_EQ(a.rows, b.rows);
  SHOAL_CHECK_EQ(a.channels, b.channels);
  SHOAL_CHECK_GE(a.stride, a.channels);
  SHOAL_CHECK_GE(b.stride, b.channels);
}

}  // namespace shoal::kernels
