// The K types: scales for groups first, then these as small integers under one F16.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/float16.h"
#include "kernels/quant_blocks.h"
#include "kernels/quantize_fit.h"
#include "kernels/quantize_internal.h"

namespace shoal::kernels::internal {
namespace {

constexpr std::size_t kGroup = 32;  // Of Q4_K and Q5_K.
constexpr std::size_t kGroups = kLargeBlock / kGroup;
constexpr int kSixBits = 63;

// A block of Q4_K or Q5_K before it is packed.
struct AffineBlock {
  float d = 0.0F;
  float dmin = 0.0F;
  GroupScales scales{};
  std::array<std::uint8_t, kLargeBlock> steps{};
};

std::span<const float> GroupOf(const float* x, std::size_t group) {
  return {x + kGroup * group, kGroup};
}

float InverseOf(float scale) { return scale == 0.0F ? 0.0F : 1.0F / scale; }

Affine Stored(const AffineBlock& block, int scale, int minimum) {
  return {block.d * static_cast<float>(scale), -block.dmin * static_cast<float>(minimum)};
}

// Rounds a group's scale and offset to six bits each, and takes the best of the neighbours: what
// rounding does to one can be made good by the other.
void ChooseScales(std::span<const float> x, const Affine& wanted, int most, std::size_t group,
                  AffineBlock& block) {
  const int scale = RoundWithin(wanted.scale * InverseOf(block.d), 0, kSixBits);
  const int minimum = RoundWithin(-wanted.offset * InverseOf(block.dmin), 0, kSixBits);
  double best = AffineError(x, Stored(block, scale, minimum), most);
  block.scales.scale[group] = static_cast<std::uint8_t>(scale);
  block.scales.minimum[group] = static_cast<std::uint8_t>(minimum);
  for (int s = std::max(0, scale - 1); s <= std::min(kSixBits, scale + 1); ++s) {
    for (int m = std::max(0, minimum - 1); m <= std::min(kSixBits, minimum + 1); ++m) {
      const double error = AffineError(x, Stored(block, s, m), most);
      if (error >= best) continue;
      best = error;
      block.scales.scale[group] = static_cast<std::uint8_t>(s);
      block.scales.minimum[group] = static_cast<std::uint8_t>(m);
    }
  }
}

// Steps go from 0 to `most`.
AffineBlock FitBlock(const float* x, int most) {
  std::array<Affine, kGroups> wanted{};
  Affine largest;
  for (std::size_t group = 0; group < kGroups; ++group) {
    wanted[group] = FitAffine(GroupOf(x, group), most, OffsetLimit::kNotPositive, KeepAsIs);
    largest.scale = std::max(largest.scale, wanted[group].scale);
    largest.offset = std::max(largest.offset, -wanted[group].offset);
  }
  AffineBlock block;
  block.d = SnapToF16(largest.scale / kSixBits);
  block.dmin = SnapToF16(largest.offset / kSixBits);
  for (std::size_t group = 0; group < kGroups; ++group) {
    ChooseScales(GroupOf(x, group), wanted[group], most, group, block);
    const Affine stored = Stored(block, block.scales.scale[group], block.scales.minimum[group]);
    for (std::size_t i = 0; i < kGroup; ++i) {
      const float value = x[kGroup * group + i];
      block.steps[kGroup * group + i] = static_cast<std::uint8_t>(
          RoundWithin((value - stored.offset) * InverseOf(stored.scale), 0, most));
    }
  }
  return block;
}

void StoreScales(const AffineBlock& block, std::byte* out) {
  StoreU16(F16FromFloat(block.d), out);
  StoreU16(F16FromFloat(block.dmin), out + 2);
  PackGroupScales(block.scales, out + 4);
}

void StoreNibbles(const AffineBlock& block, std::byte* out) {
  for (std::size_t pair = 0; pair < kGroups / 2; ++pair) {
    for (std::size_t i = 0; i < kGroup; ++i) {
      const std::uint32_t low = block.steps[2 * kGroup * pair + i];
      const std::uint32_t high = block.steps[2 * kGroup * pair + kGroup + i];
      out[kGroup * pair + i] = static_cast<std::byte>((low & 15U) | ((high & 15U) << 4U));
    }
  }
}

void StoreFifthBits(const AffineBlock& block, std::byte* out) {
  for (std::size_t i = 0; i < kGroup; ++i) {
    std::uint32_t bits = 0;
    for (std::size_t group = 0; group < kGroups; ++group) {
      bits |= ((block.steps[kGroup * group + i] >> 4U) & 1U) << group;
    }
    out[i] = static_cast<std::byte>(bits);
  }
}

// Q6_K.
constexpr std::size_t kGroup6 = 16;
constexpr std::size_t kGroups6 = kLargeBlock / kGroup6;
constexpr int kHalf6 = 32;

// The scale of eight bits nearest to `wanted`, or a neighbour that is better.
int ChooseScale(std::span<const float> x, float wanted, float d) {
  const int start = RoundWithin(wanted * InverseOf(d), -128, 127);
  int best = start;
  double best_error = SymmetricError(x, d * static_cast<float>(start), kHalf6);
  for (const int scale : {std::max(-128, start - 1), std::min(127, start + 1)}) {
    const double error = SymmetricError(x, d * static_cast<float>(scale), kHalf6);
    if (error >= best_error) continue;
    best = scale;
    best_error = error;
  }
  return best;
}

void StoreSixBits(const std::array<std::uint8_t, kLargeBlock>& steps, std::byte* out) {
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint8_t* q = steps.data() + 128 * half;
    for (std::size_t i = 0; i < 64; ++i) {
      out[64 * half + i] = static_cast<std::byte>((q[i] & 15U) | ((q[i + 64] & 15U) << 4U));
    }
    for (std::size_t i = 0; i < 32; ++i) {
      std::uint32_t high = 0;
      for (std::size_t part = 0; part < 4; ++part) {
        high |= static_cast<std::uint32_t>(q[32 * part + i] >> 4U) << (2 * part);
      }
      out[128 + 32 * half + i] = static_cast<std::byte>(high);
    }
  }
}

}  // namespace

void QuantizeQ4K(const float* x, std::byte* block) {
  const AffineBlock fitted = FitBlock(x, 15);
  StoreScales(fitted, block);
  StoreNibbles(fitted, block + 16);
}

void QuantizeQ5K(const float* x, std::byte* block) {
  const AffineBlock fitted = FitBlock(x, 31);
  StoreScales(fitted, block);
  StoreFifthBits(fitted, block + 16);
  StoreNibbles(fitted, block + 48);
}

void QuantizeQ6K(const float* x, std::byte* block) {
  std::array<float, kGroups6> wanted{};
  float largest = 0.0F;
  for (std::size_t group = 0; group < kGroups6; ++group) {
    wanted[group] = FitSymmetric({x + kGroup6 * group, kGroup6}, kHalf6, KeepAsIs);
    largest = std::max(largest, std::abs(wanted[group]));
  }
  const float d = SnapToF16(largest / 127.0F);
  std::array<std::uint8_t, kLargeBlock> steps{};
  for (std::size_t group = 0; group < kGroups6; ++group) {
    const int scale = ChooseScale({x + kGroup6 * group, kGroup6}, wanted[group], d);
    block[192 + group] = static_cast<std::byte>(scale);
    const float inverse = InverseOf(d * static_cast<float>(scale));
    for (std::size_t i = kGroup6 * group; i < kGroup6 * (group + 1); ++i) {
      steps[i] =
          static_cast<std::uint8_t>(RoundWithin(x[i] * inverse, -kHalf6, kHalf6 - 1) + kHalf6);
    }
  }
  StoreSixBits(steps, block);
  StoreU16(F16FromFloat(d), block + 208);
}

}  // namespace shoal::kernels::internal
