#include "base/hash.h"

#include <gtest/gtest.h>

#include <array>

namespace shoal {
namespace {

TEST(FingerprintTest, DependsOnOrderAndBoundaries) {
  const std::array<std::byte, 3> abc = {std::byte{1}, std::byte{2}, std::byte{3}};
  Fingerprint split_late;
  split_late.AddBytes(std::span(abc).first(2));
  split_late.AddBytes(std::span(abc).last(1));
  Fingerprint split_early;
  split_early.AddBytes(std::span(abc).first(1));
  split_early.AddBytes(std::span(abc).last(2));
  EXPECT_NE(split_late.value(), split_early.value());
}

TEST(FingerprintTest, IsTheSameOnEveryPlatform) {
  Fingerprint print;
  print.Add(1);
  print.Add(0xfedcba9876543210ULL);
  const std::array<std::byte, 9> bytes = {std::byte{1}, std::byte{2}, std::byte{3},
                                          std::byte{4}, std::byte{5}, std::byte{6},
                                          std::byte{7}, std::byte{8}, std::byte{9}};
  print.AddBytes(bytes);
  EXPECT_EQ(print.value(), 8713178128711242895ULL);
}

}  // namespace
}  // namespace shoal
