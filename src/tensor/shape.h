// Shape: the extents of a tensor, outermost first, e.g. [batch, height, width, channels].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

#include "base/status.h"
#include "tensor/dtype.h"

namespace shoal {

// A value: cheap to copy, no allocation. The number of elements always fits in 63
// bits, so products of extents need no further checks. A shape of rank 0 is a scalar
// with one element; an extent of 0 makes an empty tensor.
class Shape {
 public:
  // The networks we know need 5 axes at most (grouped convolution weights).
  static constexpr std::size_t kRankMax = 8;

  Shape() = default;
  // For extents the program itself made. REQUIRES: what Make checks.
  Shape(std::initializer_list<std::int64_t> extents);  // NOLINT: implicit, so that {2, 3} is one

  // For extents from a file or a peer. kInvalidArgument: too many axes, a negative
  // extent, or more elements than 63 bits count.
  static Result<Shape> Make(std::span<const std::int64_t> extents);

  std::size_t rank() const { return rank_; }
  // REQUIRES: axis < rank().
  std::int64_t operator[](std::size_t axis) const;
  std::span<const std::int64_t> extents() const { return {extents_.data(), rank_}; }
  std::int64_t elements() const { return elements_; }

  // Elements of one index of the first axis. REQUIRES: rank() > 0.
  std::int64_t row_elements() const;
  // The same shape with another first extent. REQUIRES: rank() > 0, result countable.
  Shape WithFirst(std::int64_t extent) const;

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kRankMax> extents_{};  // Zero beyond rank_.
  std::size_t rank_ = 0;
  std::int64_t elements_ = 1;
};

// "[2, 3]"; "[]" for a scalar.
std::string ToString(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

// Bytes of a dense tensor. kInvalidArgument: the last extent is not a whole number of
// blocks. kResourceExhausted: more bytes than an address space holds.
Result<std::size_t> ByteSize(DType dtype, const Shape& shape);

}  // namespace shoal
