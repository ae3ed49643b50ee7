// Attention: the same bits for a head whatever else is computed at the same time.
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

#include "kernels/kv_rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

inline constexpr std::size_t kAttentionBlock = 64;
inline constexpr std::size_t kHeadDimMax = 512;

// `count` rows of head_dim numbers, one after the other.
struct KvBlock {
  const std::byte* keys;
  const std::byte* values;
  std::size_t count;  // 1 to kAttentionBlock.
};

// `q` and `out` are of several heads that share keys and values, one after the other; each is
// worked on as if it were alone. REQUIRES: at least one block; head_dim <= kHeadDimMax;
// q.size() == out.size(), a multiple of head_dim; CanKeep(type, head_dim).
void Attend(std::span<const float> q, std::size_t head_dim, std::span<const KvBlock> blocks,
            KvType type, float scale, std::span<float> out, Target target = BestTarget());

}  // namespace shoal::kernels
