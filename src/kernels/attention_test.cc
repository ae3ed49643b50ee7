#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
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
      blocks.push_back({.keys = keys.data() + at * dim,
                        .values = values.data() + at * dim,
                        .count = std::min(kAttentionBlock, kPositions - at)});
    }
    return blocks;
  }
};

TEST(AttentionTest, IsTheFormula) {
  const Head head(64);
  std::vector<float> out(head.dim);
  Attend(head.q, head.Blocks(), 0.125F, out);
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
    Attend(head.q, head.Blocks(), 0.125F, want, Target::kRef);
    for (const Target target : SupportedTargets()) {
      std::vector<float> out(dim);
      Attend(head.q, head.Blocks(), 0.125F, out, target);
      ExpectSameBits<float>(out, want);
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
