#include "tensor/shape.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {

Result<Shape> Shape::Make(std::span<const std::int64_t> extents) {
  if (extents.size() > kRankMax) {
    return Status(Code::kInvalidArgument, "a shape of " + std::to_string(extents.size()) +
                                              " axes; at most " + std::to_string(kRankMax));
  }
  Shape shape;
  shape.rank_ = extents.size();
  std::copy(extents.begin(), extents.end(), shape.extents_.begin());
  // Overflow is judged without the zeros, so that an empty tensor has countable rows too.
  std::int64_t nonzero = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      return Status(Code::kInvalidArgument, "negative extent in shape " + ToString(shape));
    }
    if (extent > 0 && __builtin_mul_overflow(nonzero, extent, &nonzero)) {
      return Status(Code::kInvalidArgument, "too many elements in shape " + ToString(shape));
    }
    shape.elements_ = extent == 0 ? 0 : shape.elements_;
  }
  shape.elements_ = shape.elements_ == 0 ? 0 : nonzero;
  return shape;
}

Shape::Shape(std::initializer_list<std::int64_t> extents) {
  Result<Shape> made = Make({extents.begin(), extents.size()});
  SHOAL_CHECK(made.ok());
  *this = *made;
}

std::int64_t Shape::operator[](std::size_t axis) const {
  SHOAL_CHECK_LT(axis, rank_);
  return extents_[axis];
}

std::int64_t Shape::row_elements() const {
  SHOAL_CHECK_GT(rank_, 0U);
  std::int64_t elements = 1;
  for (std::size_t axis = 1; axis < rank_; ++axis) elements *= extents_[axis];
  return elements;
}

Shape Shape::WithFirst(std::int64_t extent) const {
  SHOAL_CHECK_GT(rank_, 0U);
  std::array<std::int64_t, kRankMax> extents = extents_;
  extents[0] = extent;
  Result<Shape> made = Make({extents.data(), rank_});
  SHOAL_CHECK(made.ok());
  return *made;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape.extents()) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << ToString(shape); }

Result<std::size_t> ByteSize(DType dtype, const Shape& shape) {
  const DTypeInfo& info = Info(dtype);
  const auto elements = static_cast<std::size_t>(shape.elements());
  const std::size_t last =
      shape.rank() == 0 ? 1 : static_cast<std::size_t>(shape[shape.rank() - 1]);
  if (last % info.block_elements != 0) {
    return Status(Code::kInvalidArgument, "rows of shape " + ToString(shape) +
                                              " are not whole blocks of " + std::string(info.name));
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(elements / info.block_elements, info.block_bytes, &bytes)) {
    return Status(Code::kResourceExhausted,
                  "shape " + ToString(shape) + " of " + std::string(info.name) + " is too large");
  }
  return bytes;
}

}  // namespace shoal
