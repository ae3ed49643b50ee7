#include "kernels/row_packers.h"

#include <array>
#include <cstring>

#include "kernels/block_parts.h"
#include "kernels/quant_blocks.h"

namespace shoal::kernels {
namespace {

constexpr std::uint32_t kLowNibbles = 0x0f0f0f0f;
constexpr std::size_t kVectorBytes = 4 * kPackedRows;  // Four k of eight rows.

std::uint32_t LoadWord(const void* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
void PutWord(std::uint32_t word, std::uint8_t* to) { std::memcpy(to, &word, sizeof word); }
void Copy2(const std::byte* from, std::uint8_t* to) { std::memcpy(to, from, 2); }

void PutPair(std::uint8_t first, std::uint8_t second, std::uint8_t* to) {
  to[0] = first;
  to[1] = second;
}

// Types of which most files are made are packed four bytes at a time, as fast as memory is read:
// through BlockParts it took seconds. Files have the nibbles of k and k + half in one byte, chunks
// those of k and k + 4; so two words of a file make two words of a chunk.
struct NibbleWords {
  std::uint32_t low;   // The first k of both words.
  std::uint32_t high;  // The others.
};
NibbleWords Regroup(const std::byte* eight_bytes) {
  const std::uint32_t a = LoadWord(eight_bytes);
  const std::uint32_t b = LoadWord(eight_bytes + 4);
  return {(a & kLowNibbles) | ((b & kLowNibbles) << 4U),
          ((a >> 4U) & kLowNibbles) | (b & ~kLowNibbles)};
}

// 16 bytes with the nibbles of 32 k.
void PackNibbles32(const std::byte* from, std::uint8_t* to) {
  for (std::size_t v = 0; v < 2; ++v) {
    const NibbleWords words = Regroup(from + 8 * v);
    PutWord(words.low, to + kVectorBytes * v);
    PutWord(words.high, to + kVectorBytes * (v + 2));
  }
}

// Stored as q + 8 in files and chunks.
void PackQ4_0(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(PackedForm::kU4x32);
  Copy2(block, chunk + 2 * r);
  PackNibbles32(block + 2, chunk + layout.low() + 4 * r);
}

// Also of blocks with a zero: the layout is the same.
void PackQ4_1(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(PackedForm::kU4x32Offset);
  Copy2(block, chunk + 2 * r);
  Copy2(block + 2, chunk + 2 * (kPackedRows + r));
  PackNibbles32(block + 4, chunk + layout.low() + 4 * r);
}

void PackQ8_0(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(PackedForm::kI8x32);
  Copy2(block, chunk + 2 * r);
  for (std::size_t v = 0; v < 8; ++v) {
    PutWord(LoadWord(block + 2 + 4 * v), chunk + layout.low() + kVectorBytes * v + 4 * r);
  }
}

void PackQ4_K(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(PackedForm::kU4x256);
  Copy2(block, chunk + 2 * r);
  Copy2(block + 2, chunk + 2 * (kPackedRows + r));
  const GroupScales groups = UnpackGroupScales(block + 4);
  for (std::size_t p = 0; p < 4; ++p) {
    const std::size_t at = 2 * (kPackedRows * p + r);
    PutPair(groups.scale[2 * p], groups.scale[2 * p + 1], chunk + layout.scales() + at);
    PutPair(groups.minimum[2 * p], groups.minimum[2 * p + 1], chunk + layout.minima() + at);
  }
  // 32 bytes with the nibbles of 64 k.
  std::uint8_t* to = chunk + layout.low() + 4 * r;
  for (const std::byte* from = block + 16; from < block + 144; from += 32, to += 8 * kVectorBytes) {
    for (std::size_t v = 0; v < 4; ++v) {
      const NibbleWords words = Regroup(from + 8 * v);
      PutWord(words.low, to + kVectorBytes * v);
      PutWord(words.high, to + kVectorBytes * (v + 4));
    }
  }
}

// Of four words with two bits in each byte, those at `shift`, as a word of a chunk's high part.
std::uint32_t HighBits(const std::array<std::uint32_t, 4>& words, unsigned shift) {
  std::uint32_t bits = 0;
  for (unsigned step = 0; step < 4; ++step) {
    bits |= ((words[step] >> shift) & 0x03030303U) << (2 * step);
  }
  return bits;
}

// Stored as q + 32 in files and chunks. A half of 128 k has 64 bytes of nibbles, of k below 64 the
// low ones, and 32 bytes with two bits each for k, k + 32, k + 64 and k + 96.
void PackQ6_K(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(PackedForm::kU6x256);
  Copy2(block + 208, chunk + 2 * r);
  for (std::size_t p = 0; p < 8; ++p) {
    Copy2(block + 192 + 2 * p, chunk + layout.scales() + 2 * (kPackedRows * p + r));
  }
  for (std::size_t half = 0; half < 2; ++half) {
    std::uint8_t* const low = chunk + layout.low() + 16 * kVectorBytes * half + 4 * r;
    for (std::size_t v = 0; v < 8; ++v) {
      const NibbleWords words = Regroup(block + 64 * half + 8 * v);
      PutWord(words.low, low + kVectorBytes * v);
      PutWord(words.high, low + kVectorBytes * (v + 8));
    }
    std::uint8_t* const high = chunk + layout.high() + 8 * kVectorBytes * half + 4 * r;
    for (std::size_t sixteen = 0; sixteen < 2; ++sixteen) {
      const std::byte* from = block + 128 + 32 * half + 16 * sixteen;
      const std::array<std::uint32_t, 4> words = {LoadWord(from), LoadWord(from + 4),
                                                  LoadWord(from + 8), LoadWord(from + 12)};
      for (unsigned quarter = 0; quarter < 4; ++quarter) {
        PutWord(HighBits(words, 2 * quarter), high + kVectorBytes * (2 * quarter + sixteen));
      }
    }
  }
}

// All 16 of them as pairs.
void PutPairs(const std::array<std::int8_t, 16>& values, std::size_t r, std::uint8_t* to) {
  for (std::size_t p = 0; p < 8; ++p) {
    PutPair(static_cast<std::uint8_t>(values[2 * p]), static_cast<std::uint8_t>(values[2 * p + 1]),
            to + 2 * (kPackedRows * p + r));
  }
}

// The other types become bytes.
template <PackedForm kForm, PartsReader* kRead>
void PackBytes(const std::byte* block, std::size_t r, std::uint8_t* chunk) {
  constexpr PackedLayout layout = LayoutOf(kForm);
  static_assert(layout.low_bytes == kPackedRows * layout.block);
  BlockParts parts;
  kRead(block, parts);
  std::memcpy(chunk + 2 * r, &parts.d, 2);
  if constexpr (layout.second) std::memcpy(chunk + 2 * (kPackedRows + r), &parts.second, 2);
  if constexpr (layout.scale_pairs != 0) PutPairs(parts.scales, r, chunk + layout.scales());
  if constexpr (layout.minimum_pairs != 0) PutPairs(parts.minima, r, chunk + layout.minima());
  std::uint8_t* to = chunk + layout.low() + 4 * r;
  for (std::size_t k = 0; k < layout.block; k += 4, to += kVectorBytes) {
    PutWord(LoadWord(parts.q.data() + k), to);
  }
}

template <PackedForm kForm, PartsReader* kRead>
constexpr PackedType InBytes(float unit = 1.0F) {
  return {kForm, &PackBytes<kForm, kRead>, unit};
}

}  // namespace

const PackedType& PackedTypeWithZeros() {
  static constexpr PackedType type = {PackedForm::kU4x32Zero, &PackQ4_1, 1};
  return type;
}

const PackedType* FindPackedType(DType dtype) {
  using enum PackedForm;
  static constexpr PackedType q4_0 = {kU4x32, &PackQ4_0, 1};
  static constexpr PackedType q4_1 = {kU4x32Offset, &PackQ4_1, 1};
  static constexpr PackedType q8_0 = {kI8x32, &PackQ8_0, 1};
  static constexpr PackedType q4_k = {kU4x256, &PackQ4_K, 1};
  static constexpr PackedType q6_k = {kU6x256, &PackQ6_K, 1};
  static constexpr PackedType q5_0 = InBytes<kI8x32, ReadQ5_0>();
  static constexpr PackedType q5_1 = InBytes<kI8x32Offset, ReadQ5_1>();
  static constexpr PackedType iq4_nl = InBytes<kI8x32, ReadIQ4NL>();
  static constexpr PackedType q2_k = InBytes<kI8x256Minima, ReadQ2K>();
  static constexpr PackedType q3_k = InBytes<kI8x256, ReadQ3K>();
  static constexpr PackedType q5_k = InBytes<kI8x256Minima, ReadQ5K>();
  static constexpr PackedType iq4_xs = InBytes<kI8x256, ReadIQ4XS>();
  static constexpr PackedType iq2_xxs = InBytes<kI8x256, ReadIQ2XXS>(0.125F);
  static constexpr PackedType iq2_xs = InBytes<kI8x256, ReadIQ2XS>(0.125F);
  static constexpr PackedType iq2_s = InBytes<kI8x256, ReadIQ2S>(0.125F);
  static constexpr PackedType iq3_xxs = InBytes<kI8x256, ReadIQ3XXS>(0.25F);
  static constexpr PackedType iq3_s = InBytes<kI8x256, ReadIQ3S>();
  switch (dtype) {
    case DType::kQ4_0:
      return &q4_0;
    case DType::kQ4_1:
      return &q4_1;
    case DType::kQ5_0:
      return &q5_0;
    case DType::kQ5_1:
      return &q5_1;
    case DType::kQ8_0:
      return &q8_0;
    case DType::kQ2_K:
      return &q2_k;
    case DType::kQ3_K:
      return &q3_k;
    case DType::kQ4_K:
      return &q4_k;
    case DType::kQ5_K:
      return &q5_k;
    case DType::kQ6_K:
      return &q6_k;
    case DType::kIQ4_NL:
      return &iq4_nl;
    case DType::kIQ4_XS:
      return &iq4_xs;
    case DType::kIQ2_XXS:
      return &iq2_xxs;
    case DType::kIQ2_XS:
      return &iq2_xs;
    case DType::kIQ2_S:
      return &iq2_s;
    case DType::kIQ3_XXS:
      return &iq3_xxs;
    case DType::kIQ3_S:
      return &iq3_s;
    default:
      return nullptr;
  }
}

}  // namespace shoal::kernels
