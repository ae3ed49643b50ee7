#include "kernels/packed_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "kernels/block_parts.h"
#include "kernels/chunks.h"

namespace shoal::kernels {
namespace {

std::optional<PackedForm> FormOf(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
      return PackedForm::kU4x32;
    case DType::kQ4_1:
      return PackedForm::kU4x32Offset;
    case DType::kQ8_0:
    case DType::kQ5_0:
    case DType::kIQ4_NL:
      return PackedForm::kI8x32;
    case DType::kQ5_1:
      return PackedForm::kI8x32Offset;
    case DType::kQ4_K:
      return PackedForm::kU4x256;
    case DType::kQ6_K:
      return PackedForm::kU6x256;
    case DType::kQ3_K:
    case DType::kIQ4_XS:
      return PackedForm::kI8x256;
    case DType::kQ2_K:
    case DType::kQ5_K:
      return PackedForm::kI8x256Minima;
    default:
      return std::nullopt;
  }
}

// How much is added to an integer to store it unsigned.
unsigned ZeroOf(PackedForm form) {
  if (form == PackedForm::kU4x32) return 8;
  return form == PackedForm::kU6x256 ? 32 : 0;
}

constexpr std::uint32_t kLowNibbles = 0x0f0f0f0f;

std::uint32_t LoadWord(const void* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
void PutWord(std::uint32_t word, std::uint8_t* to) { std::memcpy(to, &word, sizeof word); }
void PutF16(std::uint16_t bits, std::uint8_t* to) { std::memcpy(to, &bits, sizeof bits); }

// Writes row `r` of a chunk, four k at a time.
class RowWriter {
 public:
  RowWriter(PackedForm form, std::size_t r, std::uint8_t* chunk)
      : form_(form), layout_(LayoutOf(form)), r_(r), chunk_(chunk) {}

  void Write(const BlockParts& parts) const {
    PutF16(parts.d, chunk_ + 2 * r_);
    if (layout_.second) PutF16(parts.second, chunk_ + 2 * (kPackedRows + r_));
    WritePairs(parts.scales, layout_.scale_pairs, chunk_ + layout_.scales());
    WritePairs(parts.minima, layout_.minimum_pairs, chunk_ + layout_.minima());
    if (layout_.low_bytes == kPackedRows * layout_.block) {
      WriteBytes(parts.q.data());
    } else {
      WriteNibbles(parts.q.data());
    }
  }

 private:
  // All 16 of them, or, for sub-blocks of 32, every other one.
  void WritePairs(const std::array<std::int8_t, 16>& values, std::size_t pairs,
                  std::uint8_t* to) const {
    const std::size_t step = pairs == 0 ? 0 : 8 / pairs;
    for (std::size_t i = 0; i < 2 * pairs; ++i) {
      to[(i / 2 * kPackedRows + r_) * 2 + i % 2] = static_cast<std::uint8_t>(values[i * step]);
    }
  }

  void WriteBytes(const std::int8_t* q) const {
    std::uint8_t* to = chunk_ + layout_.low() + 4 * r_;
    for (std::size_t k = 0; k < layout_.block; k += 4, to += 32) PutWord(LoadWord(q + k), to);
  }

  void WriteNibbles(const std::int8_t* q) const {
    std::array<std::uint8_t, 256> stored;
    const unsigned zero = ZeroOf(form_);
    for (std::size_t k = 0; k < layout_.block; ++k) {
      stored[k] = static_cast<std::uint8_t>(static_cast<unsigned>(q[k]) + zero);
    }
    std::uint8_t* low = chunk_ + layout_.low() + 4 * r_;
    for (std::size_t k = 0; k < layout_.block; k += 8, low += 32) {
      const std::uint32_t first = LoadWord(stored.data() + k) & kLowNibbles;
      const std::uint32_t second = LoadWord(stored.data() + k + 4) & kLowNibbles;
      PutWord(first | (second << 4U), low);
    }
    if (layout_.high_bytes == 0) return;
    std::uint8_t* high = chunk_ + layout_.high() + 4 * r_;
    for (std::size_t k = 0; k < layout_.block; k += 16, high += 32) {
      std::uint32_t bits = 0;
      for (std::size_t step = 0; step < 4; ++step) {
        const std::uint32_t word = LoadWord(stored.data() + k + 4 * step);
        bits |= ((word >> 4U) & 0x03030303U) << (2 * step);
      }
      PutWord(bits, high);
    }
  }

  PackedForm form_;
  PackedLayout layout_;
  std::size_t r_;
  std::uint8_t* chunk_;
};

}  // namespace

bool PackedWeights::Supports(DType dtype) { return FormOf(dtype).has_value(); }

Result<PackedWeights> PackedWeights::Make(DType dtype, std::span<const std::byte> blocks,
                                          std::size_t rows, std::size_t k, Parallel& parallel) {
  SHOAL_CHECK(Supports(dtype));
  const DTypeInfo& info = Info(dtype);
  SHOAL_CHECK_EQ(k % info.block_elements, std::size_t{0});
  const std::size_t row_bytes = k / info.block_elements * info.block_bytes;
  SHOAL_CHECK_EQ(blocks.size(), rows * row_bytes);
  PackedWeights packed;
  packed.form_ = *FormOf(dtype);
  packed.rows_ = rows;
  packed.k_ = k;
  SHOAL_ASSIGN_OR_RETURN(packed.buffer_,
                         AlignedBuffer::Make(packed.groups() * packed.group_bytes()));
  auto* const to = reinterpret_cast<std::uint8_t*>(packed.buffer_.data());
  const std::byte* const from = blocks.data();
  const std::size_t chunk_bytes = LayoutOf(packed.form_).bytes();
  PartsReader* const read = PartsReaderOf(dtype);
  ForChunks(packed.groups(), 1, parallel, [&](std::size_t g, std::size_t) {
    std::uint8_t* chunk = to + g * packed.group_bytes();
    BlockParts parts;
    for (std::size_t b = 0; b < k / info.block_elements; ++b, chunk += chunk_bytes) {
      const std::size_t here = std::min(kPackedRows, rows - g * kPackedRows);
      if (here < kPackedRows) std::memset(chunk, 0, chunk_bytes);
      for (std::size_t r = 0; r < here; ++r) {
        read(from + (g * kPackedRows + r) * row_bytes + b * info.block_bytes, parts);
        RowWriter(packed.form_, r, chunk).Write(parts);
      }
    }
  });
  return packed;
}

}  // namespace shoal::kernels
