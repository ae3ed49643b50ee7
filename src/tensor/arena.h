// Arena: one buffer made at start-up, handed out in slices. A steady training or
// inference step takes its scratch tensors from an arena and gives them back all at
// once, so that it allocates nothing.
//
//   SHOAL_ASSIGN_OR_RETURN(Arena arena, Arena::Make(budget));
//   const Arena::Mark mark = arena.mark();
//   SHOAL_ASSIGN_OR_RETURN(TensorView scores, arena.Allocate(DType::kF32, {heads, length}));
//   …
//   arena.Rewind(mark);
//
// Not thread-safe: an arena belongs to one worker.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "tensor/aligned_buffer.h"
#include "tensor/tensor.h"

namespace shoal {

class Arena {
 public:
  enum class Mark : std::size_t {};

  static Result<Arena> Make(std::size_t bytes);

  // A slice that starts on a cache line, uninitialised, valid until a Rewind to an
  // earlier mark. kResourceExhausted: says how much was asked and how much is left.
  Result<TensorView> Allocate(DType dtype, const Shape& shape);

  Mark mark() const { return Mark{used_}; }
  // Gives back everything allocated since `mark`. REQUIRES: marks are rewound in
  // reverse order.
  void Rewind(Mark mark);

  std::size_t capacity() const { return buffer_.size(); }
  std::size_t used() const { return used_; }
  // The most that was ever in use: what the next arena has to hold.
  std::size_t peak() const { return peak_; }

 private:
  AlignedBuffer buffer_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace shoal
