#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/float16.h"
#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

constexpr std::size_t kPositions = 150;

struct Head {
  std::size_t dim;
  std::vector<float> q;
  std::vector<std::uint16_t> keys;
  std::vector<std::uint16_t> values;

  explicit Head(std::size_t n) : dim(n), q(PlainFloats(n, 1)) {
    for (float& x : q) x *= 0.05F;
    for (const float x : PlainFloats(n * kPositions, 2)) keys.push_back(F16FromFloat(0.1F * x));
    for (const float x : PlainFloats(n * kPositions, 3)) values.push_back(F16FromFloat(x));
  }

  std::vector<KvBlock> Blocks() const {
    std::vector<KvBlock> blocks;
    for (std::size_t at = 0; at < kPositions; at += kAttentionBlock) {
      blocks.push_back({.keys = reinterpret_cast<const std::byte*>(keys.data() + at * dim),
                        .values = reinterpret_cast<const std::byte*>(values.data() + at * dim),
                        .count = std::min(kAttentionBlock, kPositions - at)});
    }
    return blocks;
  }
};

TEST(AttentionTest, IsTheFormula) {
  const Head head(64);
  std::vector<float> out(head.dim);
  Attend(head.q, head.dim, head.Blocks(), KvType::kF16, 0.125F, out);
  std::vector<double> p;
  double sum = 0;
  for (std::size_t j = 0; j < kPositions; ++j) {
    double score = 0;
    for (std::size_t d = 0; d < head.dim; ++d) {
      score += static_cast<double>(head.q[d]) *
               static_cast<double>(FloatFromF16(head.keys[j * head.dim + d]));
    }
    p.push_back(std::exp(0.125 * score));
    sum += p.back();
  }
  for (std::size_t d = 0; d < head.dim; ++d) {
    double want = 0;
    for (std::size_t j = 0; j < kPositions; ++j) {
      want += p[j] / sum * static_cast<double>(FloatFromF16(head.values[j * head.dim + d]));
    }
    EXPECT_NEAR(out[d], want, 1e-4 * (std::abs(want) + 1));
  }
}

TEST(AttentionTest, TargetsGiveTheSameBits) {
  for (const std::size_t dim : {16U, 40U, 64U, 80U, 128U, 67U}) {
    const Head head(dim);
    std::vector<float> want(dim);
    Attend(head.q, head.dim, head.Blocks(), KvType::kF16, 0.125F, want, Target::kRef);
    for (const Target target : SupportedTargets()) {
      std::vector<float> out(dim);
      Attend(head.q, head.dim, head.Blocks(), KvType::kF16, 0.125F, out, target);
      ExpectSameBits<float>(out, want);
    }
  }
}

TEST(AttentionTest, HeadsThatShareKeysGetWhatTheyGetAlone) {
  constexpr std::size_t kHeads = 11;
  const Head head(48);
  std::vector<float> q = PlainFloats(kHeads * head.dim, 5);
  for (float& x : q) x *= 0.05F;
  std::vector<float> all(q.size());
  Attend(q, head.dim, head.Blocks(), KvType::kF16, 0.125F, all);
  for (std::size_t h = 0; h < kHeads; ++h) {
    std::vector<float> one(head.dim);
    Attend(std::span(q).subspan(h * head.dim, head.dim), head.dim, head.Blocks(), KvType::kF16,
           0.125F, one);
    ExpectSameBits<float>(one, std::span<const float>(all).subspan(h * head.dim, head.dim));
  }
}

TEST(AttentionTest, Q8_0IsCloseToF16AndTheSameOnEveryTarget) {
  const Head head(64);
  const auto keep = [&](const std::vector<std::uint16_t>& rows) {
    std::vector<std::byte> kept(kPositions * KvRowBytes(KvType::kQ8_0, head.dim));
    for (std::size_t j = 0; j < kPositions; ++j) {
      std::vector<float> row;
      for (std::size_t d = 0; d < head.dim; ++d) {
        row.push_back(FloatFromF16(rows[j * head.dim + d]));
      }
      StoreKvRow(KvType::kQ8_0, row, kept.data() + j * KvRowBytes(KvType::kQ8_0, head.dim));
    }
    return kept;
  };
  const std::vector<std::byte> keys = keep(head.keys);
  const std::vector<std::byte> values = keep(head.values);
  std::vector<KvBlock> blocks;
  for (std::size_t at = 0; at < kPositions; at += kAttentionBlock) {
    const std::size_t offset = at * KvRowBytes(KvType::kQ8_0, head.dim);
    blocks.push_back({.keys = keys.data() + offset,
                      .values = values.data() + offset,
                      .count = std::min(kAttentionBlock, kPositions - at)});
  }
  std::vector<float> exact(head.dim);
  Attend(head.q, head.dim, head.Blocks(), KvType::kF16, 0.125F, exact);
  std::vector<float> want(head.dim);
  Attend(head.q, head.dim, blocks, KvType::kQ8_0, 0.125F, want, Target::kRef);
  for (std::size_t d = 0; d < head.dim; ++d)
    EXPECT_NEAR(want[d], exact[d], 5);  // Values go to 1000.
  for (const Target target : SupportedTargets()) {
    std::vector<float> out(head.dim);
    Attend(head.q, head.dim, blocks, KvType::kQ8_0, 0.125F, out, target);
    ExpectSameBits<float>(out, want);
  }
}

TEST(KvRowsTest, ZerosNansAndInfinitiesAreKept) {
  for (const float value : {0.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 1e-44F, 3e38F}) {
    const std::vector<float> row(32, value);
    std::byte kept[34];
    StoreKvRow(KvType::kQ8_0, row, kept);
    std::vector<float> back(32);
    LoadKvRows(KvType::kQ8_0, kept, 1, 32, back.data());
    if (std::abs(value) < 1) {
      EXPECT_EQ(back[3], 0.0F);
    } else {
      EXPECT_FALSE(std::isfinite(back[3])) << value;
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
