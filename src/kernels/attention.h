// Attention of one head: the same bits whatever else is computed at the same time.
//
// Keys and values come in blocks of consecutive positions. Each block is worked on from scratch,
//
//   s[j] = Dot(q, k[j]) * scale;  m = Max(s);  p[j] = Exp(s[j] - m);  l = Sum(p)
//   o[d] = 0, then fma(p[j], v[j][d], o[d]) for each j in order
//
// and the blocks are folded from the first to the last: n = max(M, m), a = Exp(M - n),
// b = Exp(m - n), L = fma(l, b, L * a), O = fma(o, b, O * a). The result is O / L; a NaN is
// 0x7fc00000. Dot, Max, Sum and Exp are those of reduce.h and math.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/target.h"

namespace shoal::kernels {

inline constexpr std::size_t kAttentionBlock = 64;
inline constexpr std::size_t kHeadDimMax = 512;

// F16 numbers as their bits, `count` rows of head_dim each, one after the other.
struct KvBlock {
  const std::uint16_t* keys;
  const std::uint16_t* values;
  std::size_t count;  // 1 to kAttentionBlock.
};

// REQUIRES: at least one block; q.size() == out.size() <= kHeadDimMax.
void Attend(std::span<const float> q, std::span<const KvBlock> blocks, float scale,
            std::span<float> out, Target target = BestTarget());

}  // namespace shoal::kernels
