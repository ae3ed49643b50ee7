// Tensor owns elements, TensorView looks at them. Both are dense and row-major;
// a view of some rows is again a view. Kernels take raw pointers that views hand
// out after checking the element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.h"
#include "base/status.h"
#include "tensor/aligned_buffer.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace shoal {

// Byte is std::byte or const std::byte. A view is a value; it does not keep the
// elements alive.
template <class Byte>
class BasicTensorView {
 public:
  BasicTensorView() = default;
  // REQUIRES: `data` holds ByteSize(dtype, shape) bytes for as long as the view is used.
  BasicTensorView(DType dtype, const Shape& shape, Byte* data)
      : dtype_(dtype), shape_(shape), data_(data) {}
  // A mutable view is a const view.
  operator BasicTensorView<const std::byte>() const  // NOLINT: implicit, loses only rights
      requires(!std::is_const_v<Byte>) {
    return {dtype_, shape_, data_};
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  Byte* bytes() const { return data_; }

  // REQUIRES: the elements are T.
  template <class T>
  auto data() const {
    SHOAL_CHECK(IsElementOf<T>(dtype_));
    using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
    return reinterpret_cast<Element*>(data_);
  }

  // The sub-tensor of `count` indices of the first axis from `begin` on.
  // REQUIRES: rank > 0, they exist, and rows are whole blocks.
  BasicTensorView Rows(std::int64_t begin, std::int64_t count) const {
    SHOAL_CHECK(begin >= 0 && count >= 0 && begin <= shape_[0] && count <= shape_[0] - begin);
    const DTypeInfo& info = Info(dtype_);
    const auto row_elements = static_cast<std::size_t>(shape_.row_elements());
    SHOAL_CHECK_EQ(row_elements % info.block_elements, 0U);
    const std::size_t row_bytes = row_elements / info.block_elements * info.block_bytes;
    return {dtype_, shape_.WithFirst(count), data_ + static_cast<std::size_t>(begin) * row_bytes};
  }

  // The same elements in another shape. REQUIRES: as many elements.
  BasicTensorView Reshaped(const Shape& shape) const {
    SHOAL_CHECK_EQ(shape.elements(), shape_.elements());
    return {dtype_, shape, data_};
  }

 private:
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  Byte* data_ = nullptr;
};

using TensorView = BasicTensorView<std::byte>;
using ConstTensorView = BasicTensorView<const std::byte>;

// Move-only: copies are dear, and spelled Copy().
class Tensor {
 public:
  Tensor() = default;

  // Elements start uninitialised. Fails as ByteSize and AlignedBuffer::Make do.
  static Result<Tensor> Make(DType dtype, const Shape& shape);
  static Result<Tensor> Zeros(DType dtype, const Shape& shape);
  Result<Tensor> Copy() const;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t byte_size() const { return buffer_.size(); }

  TensorView view() { return {dtype_, shape_, buffer_.data()}; }
  ConstTensorView view() const { return {dtype_, shape_, buffer_.data()}; }
  // REQUIRES: the elements are T.
  template <class T>
  T* data() {
    return view().data<T>();
  }
  template <class T>
  const T* data() const {
    return view().data<T>();
  }

 private:
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  AlignedBuffer buffer_;
};

}  // namespace shoal
