// What the blocks of an Int4Matrix stand for, read by tests.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/quant_blocks.h"
#include "llm/int4_matrix.h"

namespace shoal::llm {

// In the order of the blocks' inputs.
inline std::vector<float> WeightsOf(const Int4Blocks& blocks) {
  const DTypeInfo& info = Info(blocks.dtype);
  const std::size_t count = blocks.blocks.size() / info.block_bytes;
  std::vector<float> weights(count * info.block_elements);
  if (blocks.dtype == DType::kQ4_0) {
    kernels::Dequantize(blocks.dtype, blocks.blocks.bytes(), weights);
    return weights;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::byte* block = blocks.blocks.data() + i / 32 * info.block_bytes;
    const int q = kernels::LoadByte(block + 4 + i % 16) >> (i % 32 / 16 * 4) & 15;
    weights[i] = kernels::LoadF16(block) * (static_cast<float>(q) - kernels::LoadF16(block + 2));
  }
  return weights;
}

}  // namespace shoal::llm
