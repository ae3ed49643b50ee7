#include "kernels/block_parts.h"

#include <cstring>

#include "kernels/quant_blocks.h"

namespace shoal::kernels {
namespace {

// As unsigned, so that shifts and masks stay so.
unsigned ByteAt(const std::byte* from, std::size_t i) { return LoadByte(from + i); }

std::int8_t Int8(unsigned value) { return static_cast<std::int8_t>(value); }
std::int8_t Int8(int value) { return static_cast<std::int8_t>(value); }

// 16 bytes: the low nibbles are the first 16 weights, the high ones the others.
template <class Value>
void ReadNibbles(const std::byte* from, std::int8_t* q, const Value& value) {
  for (std::size_t j = 0; j < 16; ++j) {
    q[j] = value(ByteAt(from, j) & 15U, j);
    q[j + 16] = value(ByteAt(from, j) >> 4U, j + 16);
  }
}

void ReadQ4_0(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  ReadNibbles(block + 2, parts.q.data(),
              [](unsigned nibble, std::size_t) { return Int8(static_cast<int>(nibble) - 8); });
}

void ReadQ4_1(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  parts.second = LoadU16(block + 2);
  ReadNibbles(block + 4, parts.q.data(), [](unsigned nibble, std::size_t) { return Int8(nibble); });
}

void ReadQ5_0(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  const std::uint32_t high = LoadU32(block + 2);
  ReadNibbles(block + 6, parts.q.data(), [high](unsigned nibble, std::size_t j) {
    return Int8(static_cast<int>(nibble | (((high >> j) & 1U) << 4U)) - 16);
  });
}

void ReadQ5_1(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  parts.second = LoadU16(block + 2);
  const std::uint32_t high = LoadU32(block + 4);
  ReadNibbles(block + 8, parts.q.data(), [high](unsigned nibble, std::size_t j) {
    return Int8(nibble | (((high >> j) & 1U) << 4U));
  });
}

void ReadQ8_0(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  std::memcpy(parts.q.data(), block + 2, 32);
}

void ReadIq4Nl(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  ReadNibbles(block + 2, parts.q.data(),
              [](unsigned nibble, std::size_t) { return kIQ4Values[nibble]; });
}

// For 32 weights each.
void SetGroupScales(const GroupScales& groups, BlockParts& parts) {
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = Int8(static_cast<unsigned>(groups.scale[j / 2]));
    parts.minima[j] = Int8(static_cast<unsigned>(groups.minimum[j / 2]));
  }
}

void ReadQ4K(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  parts.second = LoadU16(block + 2);
  SetGroupScales(UnpackGroupScales(block + 4), parts);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t at = i / 32 * 64 + i % 32;
    parts.q[at] = Int8(ByteAt(block, 16 + i) & 15U);
    parts.q[at + 32] = Int8(ByteAt(block, 16 + i) >> 4U);
  }
}

void ReadQ5K(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  parts.second = LoadU16(block + 2);
  SetGroupScales(UnpackGroupScales(block + 4), parts);
  const std::byte* high = block + 16;
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t at = i / 32 * 64 + i % 32;
    const unsigned bits = ByteAt(high, i % 32) >> (i / 32 * 2);
    parts.q[at] = Int8((ByteAt(block, 48 + i) & 15U) | ((bits & 1U) << 4U));
    parts.q[at + 32] = Int8((ByteAt(block, 48 + i) >> 4U) | ((bits & 2U) << 3U));
  }
}

void ReadQ6K(const std::byte* block, BlockParts& parts) {
  const std::byte* high = block + 128;
  parts.d = LoadU16(block + 208);
  std::memcpy(parts.scales.data(), block + 192, 16);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128;
    const std::size_t quarter = i % 128 / 32;  // Which two bits of the high byte.
    const std::size_t l = i % 32;
    const unsigned low = ByteAt(block, 64 * half + 32 * (quarter % 2) + l) >> (quarter / 2 * 4);
    const unsigned bits = ByteAt(high, 32 * half + l) >> (2 * quarter);
    parts.q[i] = Int8(static_cast<int>((low & 15U) | ((bits & 3U) << 4U)) - 32);
  }
}

void ReadQ2K(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block + 80);
  parts.second = LoadU16(block + 82);
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = Int8(ByteAt(block, j) & 15U);
    parts.minima[j] = Int8(ByteAt(block, j) >> 4U);
  }
  for (std::size_t i = 0; i < 256; ++i) {
    const unsigned bits = ByteAt(block, 16 + i / 128 * 32 + i % 32);
    parts.q[i] = Int8((bits >> (i % 128 / 32 * 2)) & 3U);
  }
}

void ReadQ3K(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block + 108);
  parts.scales = UnpackScalesQ3K(block + 96);
  for (std::size_t i = 0; i < 256; ++i) {
    const unsigned low = (ByteAt(block, 32 + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2)) & 3U;
    const unsigned high = (ByteAt(block, i % 32) >> (i / 32)) & 1U;
    parts.q[i] = Int8(static_cast<int>(low) - (high != 0 ? 0 : 4));
  }
}

void ReadIq4Xs(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  const unsigned high = LoadU16(block + 2);
  for (std::size_t j = 0; j < 8; ++j) {
    const unsigned low = (ByteAt(block, 4 + j / 2) >> (j % 2 * 4)) & 15U;
    const int scale = static_cast<int>(low | (((high >> (2 * j)) & 3U) << 4U)) - 32;
    parts.scales[2 * j] = parts.scales[2 * j + 1] = Int8(scale);
    ReadNibbles(block + 8 + 16 * j, parts.q.data() + 32 * j,
                [](unsigned nibble, std::size_t) { return kIQ4Values[nibble]; });
  }
}

}  // namespace

PartsReader* PartsReaderOf(DType dtype) {
  switch (dtype) {
    case DType::kQ4_0:
      return &ReadQ4_0;
    case DType::kQ4_1:
      return &ReadQ4_1;
    case DType::kQ5_0:
      return &ReadQ5_0;
    case DType::kQ5_1:
      return &ReadQ5_1;
    case DType::kQ8_0:
      return &ReadQ8_0;
    case DType::kQ2_K:
      return &ReadQ2K;
    case DType::kQ3_K:
      return &ReadQ3K;
    case DType::kQ4_K:
      return &ReadQ4K;
    case DType::kQ5_K:
      return &ReadQ5K;
    case DType::kQ6_K:
      return &ReadQ6K;
    case DType::kIQ4_NL:
      return &ReadIq4Nl;
    case DType::kIQ4_XS:
      return &ReadIq4Xs;
    default:
      return nullptr;
  }
}

}  // namespace shoal::kernels
