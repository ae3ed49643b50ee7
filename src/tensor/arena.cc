#include "tensor/arena.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace shoal {

Result<Arena> Arena::Make(std::size_t bytes) {
  Arena arena;
  SHOAL_ASSIGN_OR_RETURN(arena.buffer_, AlignedBuffer::Make(bytes));
  return arena;
}

Result<TensorView> Arena::Allocate(DType dtype, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const std::size_t bytes, ByteSize(dtype, shape));
  const std::size_t begin = (used_ + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  if (begin > capacity() || bytes > capacity() - begin) {
    return Status(Code::kResourceExhausted, "arena of " + std::to_string(capacity()) +
                                                " bytes has " + std::to_string(capacity() - used_) +
                                                " left; a tensor of shape " + ToString(shape) +
                                                " needs " + std::to_string(bytes));
  }
  used_ = begin + bytes;
  peak_ = std::max(peak_, used_);
  return TensorView(dtype, shape, buffer_.data() + begin);
}

void Arena::Rewind(Mark mark) {
  SHOAL_CHECK_LE(static_cast<std::size_t>(mark), used_);
  used_ = static_cast<std::size_t>(mark);
}

}  // namespace shoal
