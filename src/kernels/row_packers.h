// How a row's block of a file becomes its part of a chunk of PackedWeights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_weights.h"
#include "tensor/dtype.h"

namespace shoal::kernels {

// Writes a block as row `r` of a chunk. REQUIRES: r < kPackedRows; Info(dtype).block_bytes bytes at
// `block`, LayoutOf(form).bytes() at `chunk`.
using RowPacker = void(const std::byte* block, std::size_t r, std::uint8_t* chunk);

struct PackedType {
  PackedForm form;
  RowPacker* pack;
  // Weights are this times what the chunk says: a power of two, which F16 scales of small weights
  // could not take in.
  float unit;
};

// Null if weights of this type cannot be packed.
const PackedType* FindPackedType(DType dtype);
// Of blocks as PackedWeights::MakeWithZeros takes them.
const PackedType& PackedTypeWithZeros();

}  // namespace shoal::kernels
