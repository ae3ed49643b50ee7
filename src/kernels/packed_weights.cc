#include "kernels/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "kernels/chunks.h"
#include "kernels/row_packers.h"

namespace shoal::kernels {

bool PackedWeights::Supports(DType dtype) { return FindPackedType(dtype) != nullptr; }

PackedForm PackedWeights::FormOf(DType dtype) {
  SHOAL_CHECK(Supports(dtype));
  return FindPackedType(dtype)->form;
}

Result<PackedWeights> PackedWeights::Make(DType dtype, std::span<const std::byte> blocks,
                                          std::size_t rows, std::size_t k, Parallel& parallel) {
  SHOAL_CHECK(Supports(dtype));
  return Pack(*FindPackedType(dtype), dtype, blocks, rows, k, parallel);
}

Result<PackedWeights> PackedWeights::MakeWithZeros(std::span<const std::byte> blocks,
                                                   std::size_t rows, std::size_t k,
                                                   Parallel& parallel) {
  return Pack(PackedTypeWithZeros(), DType::kQ4_1, blocks, rows, k, parallel);
}

PackedWeights PackedWeights::Refer(PackedForm form, float unit, std::size_t rows, std::size_t k,
                                   std::span<const std::byte> data) {
  SHOAL_CHECK_EQ(k % LayoutOf(form).block, std::size_t{0});
  SHOAL_CHECK_EQ(data.size(), PackedBytes(form, rows, k));
  PackedWeights packed;
  packed.data_ = data;
  packed.form_ = form;
  packed.unit_ = unit;
  packed.rows_ = rows;
  packed.k_ = k;
  return packed;
}

Result<PackedWeights> PackedWeights::Pack(const PackedType& type, DType blocks_of,
                                          std::span<const std::byte> blocks, std::size_t rows,
                                          std::size_t k, Parallel& parallel) {
  const DTypeInfo& info = Info(blocks_of);
  SHOAL_CHECK_EQ(k % info.block_elements, std::size_t{0});
  const std::size_t row_bytes = k / info.block_elements * info.block_bytes;
  SHOAL_CHECK_EQ(blocks.size(), rows * row_bytes);
  PackedWeights packed;
  packed.form_ = type.form;
  packed.unit_ = type.unit;
  packed.rows_ = rows;
  packed.k_ = k;
  SHOAL_ASSIGN_OR_RETURN(packed.buffer_, AlignedBuffer::Make(PackedBytes(packed.form_, rows, k)));
  packed.data_ = packed.buffer_.bytes();
  auto* const to = reinterpret_cast<std::uint8_t*>(packed.buffer_.data());
  const std::byte* const from = blocks.data();
  const std::size_t chunk_bytes = LayoutOf(packed.form_).bytes();
  ForChunks(packed.groups(), 1, parallel, [&](std::size_t g, std::size_t) {
    std::uint8_t* chunk = to + g * packed.group_bytes();
    const std::size_t here = std::min(kPackedRows, rows - g * kPackedRows);
    for (std::size_t b = 0; b < k / info.block_elements; ++b, chunk += chunk_bytes) {
      if (here < kPackedRows) std::memset(chunk, 0, chunk_bytes);
      for (std::size_t r = 0; r < here; ++r) {
        type.pack(from + (g * kPackedRows + r) * row_bytes + b * info.block_bytes, r, chunk);
      }
    }
  });
  return packed;
}

}  // namespace shoal::kernels
