#include "kernels/block_parts.h"

#include "kernels/iq_grids.h"
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

// For 32 weights each.
void SetGroupScales(const GroupScales& groups, BlockParts& parts) {
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = Int8(static_cast<unsigned>(groups.scale[j / 2]));
    parts.minima[j] = Int8(static_cast<unsigned>(groups.minimum[j / 2]));
  }
}

void SetSigned(int magnitude, std::uint32_t signs, std::size_t j, std::int8_t* q) {
  q[j] = Int8(((signs >> j) & 1U) != 0 ? -magnitude : magnitude);
}

void EightOf2(std::uint16_t code, std::uint32_t signs, std::int8_t* q) {
  for (std::size_t j = 0; j < 8; ++j) SetSigned(IQ2Magnitude(code, j), signs, j, q);
}

void EightOf3(std::uint16_t code0, std::uint16_t code1, const IQ3Magnitudes& values,
              std::uint32_t signs, std::int8_t* q) {
  for (std::size_t j = 0; j < 4; ++j) {
    SetSigned(IQ3Magnitude(code0, values, j), signs, j, q);
    SetSigned(IQ3Magnitude(code1, values, j), signs, j + 4, q);
  }
}

// A scale of four bits means (s + 1/2) of a half, so that 2s + 1 is whole.
std::int8_t OddScale(std::uint32_t s) { return Int8(2 * (s & 15U) + 1); }

}  // namespace

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

void ReadIQ4NL(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  ReadNibbles(block + 2, parts.q.data(),
              [](unsigned nibble, std::size_t) { return kIQ4Values[nibble]; });
}

void ReadIQ4XS(const std::byte* block, BlockParts& parts) {
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

void ReadIQ2XXS(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::byte* indices = block + 2 + 8 * group;
    const std::uint32_t rest = LoadU32(indices + 4);
    parts.scales[2 * group] = parts.scales[2 * group + 1] = OddScale(rest >> 28U);
    for (std::size_t l = 0; l < 4; ++l) {
      EightOf2(kIQ2XXSGrid[LoadByte(indices + l)], IQSigns((rest >> (7 * l)) & 127U),
               parts.q.data() + 32 * group + 8 * l);
    }
  }
}

void ReadIQ2XS(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = OddScale(ByteAt(block, 66 + j / 2) >> (4 * (j % 2)));
  }
  for (std::size_t i = 0; i < 32; ++i) {
    const std::uint32_t word = LoadU16(block + 2 + 2 * i);
    EightOf2(kIQ2XSGrid[word & 511U], IQSigns(word >> 9U), parts.q.data() + 8 * i);
  }
}

void ReadIQ2S(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = OddScale(ByteAt(block, 74 + j / 2) >> (4 * (j % 2)));
  }
  for (std::size_t i = 0; i < 32; ++i) {
    const std::uint32_t high = (ByteAt(block, 66 + i / 4) >> (2 * (i % 4))) & 3U;
    EightOf2(kIQ2SGrid[ByteAt(block, 2 + i) | (high << 8U)], ByteAt(block, 34 + i),
             parts.q.data() + 8 * i);
  }
}

void ReadIQ3XXS(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint32_t rest = LoadU32(block + 66 + 4 * group);
    parts.scales[2 * group] = parts.scales[2 * group + 1] = OddScale(rest >> 28U);
    const std::byte* indices = block + 2 + 8 * group;
    for (std::size_t l = 0; l < 4; ++l) {
      EightOf3(kIQ3XXSGrid[LoadByte(indices + 2 * l)], kIQ3XXSGrid[LoadByte(indices + 2 * l + 1)],
               kIQ3XXSMagnitudes, IQSigns((rest >> (7 * l)) & 127U),
               parts.q.data() + 32 * group + 8 * l);
    }
  }
}

void ReadIQ3S(const std::byte* block, BlockParts& parts) {
  parts.d = LoadU16(block);
  const auto code = [&](std::size_t i) {
    const std::uint32_t ninth = (ByteAt(block, 66 + i / 8) >> (i % 8)) & 1U;
    return kIQ3SGrid[ByteAt(block, 2 + i) | (ninth << 8U)];
  };
  for (std::size_t j = 0; j < 16; ++j) {
    parts.scales[j] = OddScale(ByteAt(block, 106 + j / 4) >> (4 * (j / 2 % 2)));
  }
  for (std::size_t i = 0; i < 32; ++i) {
    EightOf3(code(2 * i), code(2 * i + 1), kIQ3SMagnitudes, ByteAt(block, 74 + i),
             parts.q.data() + 8 * i);
  }
}

}  // namespace shoal::kernels
