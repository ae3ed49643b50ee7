#include "tensor/tensor.h"

#include <cstring>
#include <utility>

namespace shoal {

Result<Tensor> Tensor::Make(DType dtype, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const std::size_t bytes, ByteSize(dtype, shape));
  Tensor tensor;
  SHOAL_ASSIGN_OR_RETURN(tensor.buffer_, AlignedBuffer::Make(bytes));
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  return tensor;
}

Result<Tensor> Tensor::Zeros(DType dtype, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(Tensor tensor, Make(dtype, shape));
  if (tensor.byte_size() > 0) std::memset(tensor.buffer_.data(), 0, tensor.byte_size());
  return tensor;
}

Result<Tensor> Tensor::Copy() const {
  SHOAL_ASSIGN_OR_RETURN(Tensor copy, Make(dtype_, shape_));
  if (byte_size() > 0) std::memcpy(copy.buffer_.data(), buffer_.data(), byte_size());
  return copy;
}

}  // namespace shoal
