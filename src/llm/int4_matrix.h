// Int4Matrix: a matrix as GPTQ and AWQ checkpoints have it, integers of 4 bits in groups that share
// a scale and a zero, and what it becomes for our products: blocks that are packed without rounding
// anything.
//
//   weight[n, k] = scale[g, n] * (q[k, n] - zero[g, n])   g: the group of input k
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "tensor/aligned_buffer.h"
#include "tensor/dtype.h"

namespace shoal::llm {

// How integers are put into words of 32 bits, lowest first.
enum class Int4Packing : std::uint8_t {
  kGptq,  // q: [k / 8, n], eight inputs a word; zeros: [g, n / 8], eight outputs a word.
  kAwq,   // q: [k, n / 8], zeros: [g, n / 8]; the outputs of a word are 0 2 4 6 1 3 5 7.
};

// Refers to the bytes of a file, which need not be aligned.
struct Int4Matrix {
  Int4Packing packing = Int4Packing::kGptq;
  std::size_t rows = 0;  // Outputs, a multiple of 8.
  std::size_t k = 0;     // Inputs, a multiple of 32.
  // Inputs of a group, a multiple of 32; the last group may have fewer.
  std::size_t group = 0;
  // Added to the zeros of the file: GPTQ's first format stores them less one.
  std::uint32_t zero_offset = 0;
  std::span<const std::byte> weights;
  std::span<const std::byte> zeros;
  std::span<const std::byte> scales;  // [g, n]
  DType scale_dtype = DType::kF16;    // F16, BF16 or F32.
  // The group of each input as I32; empty: inputs 0 … group - 1 are group 0, and so on.
  std::span<const std::byte> input_groups;

  std::size_t groups() const { return (k + group - 1) / group; }
};

// Whether sizes are what the comments above say. kCorruption, kInvalidArgument: they are not; the
// message begins with `name`.
Status CheckInt4(std::string_view name, const Int4Matrix& matrix);

// Whose size the blocks have: Q4_0 if every zero is 8, as in symmetric files, else Q4_1.
// REQUIRES: CheckInt4 passed, as for all that follow.
DType BlockTypeOf(const Int4Matrix& matrix);

struct Int4Blocks {
  // Q4_0; or Q4_1, but with the zero as F16 where that type has an offset.
  DType dtype = DType::kQ4_0;
  AlignedBuffer blocks;  // Row by row.
  // Where the inputs of the blocks are: block input j is input order[j]. Empty: they are in order.
  std::vector<std::uint32_t> order;
};

// The same weights exactly, but for scales of other types, which are rounded to F16.
// kCorruption: groups of input_groups do not have their number of inputs, or a scale is not finite.
// kResourceExhausted: no memory.
Result<Int4Blocks> MakeBlocks(std::string_view name, const Int4Matrix& matrix, Parallel& parallel);

}  // namespace shoal::llm
