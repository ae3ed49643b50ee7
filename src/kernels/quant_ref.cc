#include "kernels/quant_ref.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/float16.h"

namespace shoal::kernels {
namespace {

// One row of a chunk.
class RowReader {
 public:
  RowReader(PackedForm form, const std::uint8_t* chunk, std::size_t row)
      : form_(form), layout_(LayoutOf(form)), chunk_(chunk), row_(row) {}

  float d() const { return HalfAt(0); }
  float second() const { return HalfAt(2 * kPackedRows); }
  int scale(std::size_t sub_block) const { return PairAt(layout_.scales(), sub_block); }
  int minimum(std::size_t sub_block) const { return PairAt(layout_.minima(), sub_block); }

  int weight(std::size_t k) const {
    const std::uint8_t* low = chunk_ + layout_.low();
    const std::size_t at = row_ * 4 + k % 4;
    if (layout_.low_bytes == kPackedRows * layout_.block) {
      return static_cast<std::int8_t>(low[k / 4 * 32 + at]);
    }
    const int nibble = (low[k / 8 * 32 + at] >> (k / 4 % 2 * 4)) & 15;
    if (form_ == PackedForm::kU4x32) return nibble - 8;
    if (layout_.high_bytes == 0) return nibble;
    const int high = (chunk_[layout_.high() + k / 16 * 32 + at] >> (k / 4 % 4 * 2)) & 3;
    return (nibble | (high << 4)) - 32;
  }

 private:
  float HalfAt(std::size_t offset) const {
    std::uint16_t bits = 0;
    std::memcpy(&bits, chunk_ + offset + 2 * row_, sizeof bits);
    return FloatFromF16(bits);
  }
  int PairAt(std::size_t offset, std::size_t i) const {
    return static_cast<std::int8_t>(chunk_[offset + (i / 2 * kPackedRows + row_) * 2 + i % 2]);
  }

  PackedForm form_;
  PackedLayout layout_;
  const std::uint8_t* chunk_;
  std::size_t row_;
};

float AddBlock32(const RowReader& row, PackedForm form, const std::int8_t* q, float scale,
                 int total, float y) {
  std::int32_t sum = 0;
  for (std::size_t k = 0; k < 32; ++k) sum += row.weight(k) * q[k];
  auto exact = static_cast<float>(sum);
  if (form == PackedForm::kU4x32Zero) {
    exact = std::fma(-row.second(), static_cast<float>(total), exact);
    return std::fma(exact, row.d() * scale, y);
  }
  y = std::fma(exact, row.d() * scale, y);
  if (LayoutOf(form).second) y = std::fma(static_cast<float>(total), row.second() * scale, y);
  return y;
}

float AddBlock256(const RowReader& row, const PackedLayout& layout, const std::int8_t* q,
                  float scale, float y) {
  const std::size_t scaled = 128 / layout.scale_pairs;  // Weights of a sub-scale.
  std::int32_t sum = 0;
  std::int32_t minima = 0;
  for (std::size_t k = 0; k < 256; ++k) {
    sum += row.scale(k / scaled) * row.weight(k) * q[k];
    if (layout.second) minima += row.minimum(k / scaled) * q[k];
  }
  y = std::fma(static_cast<float>(sum), row.d() * scale, y);
  if (layout.second) y = std::fma(-static_cast<float>(minima), row.second() * scale, y);
  return y;
}

}  // namespace

void RefQuantTile(PackedForm form, const QuantTile& tile) {
  const PackedLayout layout = LayoutOf(form);
  for (std::size_t c = 0; c < tile.columns; ++c) {
    for (std::size_t r = 0; r < kPackedRows; ++r) {
      float y = 0;
      for (std::size_t b = 0; b < tile.chunks; ++b) {
        const RowReader row(form, tile.w + b * layout.bytes(), r);
        const std::int8_t* q = tile.q[c] + b * layout.block;
        y = layout.block == 32 ? AddBlock32(row, form, q, tile.scales[c][b], tile.sums[c][b], y)
                               : AddBlock256(row, layout, q, tile.scales[c][b], y);
      }
      tile.y[c][r] = y == y ? y : std::bit_cast<float>(0x7fc00000U);
    }
  }
}

}  // namespace shoal::kernels
