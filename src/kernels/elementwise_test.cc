#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(ElementwiseTest, DoesWhatItSays) {
  Serial serial;
  const std::vector<float> x = {1, -2, 3};
  const std::vector<float> y = {10, 20, 30};
  std::vector<float> z(3);
  Add(x, y, z, serial);
  EXPECT_EQ(z, (std::vector<float>{11, 18, 33}));
  Mul(x, y, z, serial);
  EXPECT_EQ(z, (std::vector<float>{10, -40, 90}));
  Scale(2, x, z, serial);
  EXPECT_EQ(z, (std::vector<float>{2, -4, 6}));
  Axpy(3, x, z, serial);
  EXPECT_EQ(z, (std::vector<float>{5, -10, 15}));
  Clamp(-1, 2, x, z, serial);
  EXPECT_EQ(z, (std::vector<float>{1, -1, 2}));
  Relu(x, z, serial);
  EXPECT_EQ(z, (std::vector<float>{1, 0, 3}));
}

TEST(ElementwiseTest, AxpyRoundsOnce) {
  Serial serial;
  const float x = 1 + 0x1p-12F;
  float y = -(1 + 0x1p-11F);
  Axpy(x, {&x, 1}, {&y, 1}, serial);
  EXPECT_EQ(y, 0x1p-24F);  // x^2 = 1 + 2^-11 + 2^-24, whose last term a product alone loses.
}

TEST(ElementwiseTest, ReluAndClampKeepNaNAndDropTheSignOfZeroAsStated) {
  Serial serial;
  const std::vector<float> x = {kNaN, -0.0F, -kInfinity, kInfinity};
  std::vector<float> y(4);
  Relu(x, y, serial);
  ExpectSameBits<float>(y, std::vector<float>{kNaN, 0.0F, 0.0F, kInfinity});
  Clamp(-1, kInfinity, x, y, serial);
  ExpectSameBits<float>(y, std::vector<float>{kNaN, -0.0F, -1.0F, kInfinity});
}

TEST(ElementwiseTest, SubnormalsAreKept) {
  Serial serial;
  const float tiny = std::numeric_limits<float>::denorm_min();
  float y = 0;
  Add({&tiny, 1}, {&tiny, 1}, {&y, 1}, serial);
  EXPECT_EQ(y, 2 * tiny);
  Scale(0x1p-20F, std::vector<float>{0x1p-120F}, {&y, 1}, serial);
  EXPECT_EQ(y, 0x1p-140F);
}

TEST(ElementwiseTest, AddRoundedRoundsToMultiplesAndCutsOff) {
  Serial serial;
  const std::vector<float> x = {0.3F, -0.3F, 0.125F, 0.375F, 100, -kInfinity, kNaN};
  std::vector<float> y(x.size(), 1);
  AddRounded(4, 0.25F, x, y, serial);
  ExpectSameBits<float>(y, std::vector<float>{1.25F, 0.75F, 1, 1.5F, 5, -3, kNaN});
}

TEST(ElementwiseTest, WhatAddRoundedAddsDoesNotDependOnTheOrder) {
  Serial serial;
  const std::size_t n = 1000;
  constexpr std::size_t kUnits = 16;
  std::vector<float> up(n), down(n), halves(n);
  std::vector<float> second(n);
  const auto add = [&](std::size_t unit, std::vector<float>& y) {
    std::vector<float> x = AwkwardFloats(n, unit);
    AddRounded(1024, 1024 * kUnits * 0x1p-24F, x, y, serial);
  };
  for (std::size_t unit = 0; unit < kUnits; ++unit) add(unit, up);
  for (std::size_t unit = kUnits; unit-- > 0;) add(unit, down);
  for (std::size_t unit = 0; unit < kUnits; ++unit) add(unit, unit % 3 == 0 ? halves : second);
  Add(halves, second, halves, serial);
  ExpectSameBits<float>(up, down);
  ExpectSameBits<float>(up, halves);
}

TEST(ElementwiseTest, EveryTargetGivesTheSameBits) {
  using Binary =
      void(std::span<const float>, std::span<const float>, std::span<float>, Parallel&, Target);
  for (Binary* op : {&Add, &Mul}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t n, Parallel& parallel, Target target) {
          std::vector<float> z(n);
          op(AwkwardFloats(n, n), AwkwardFloats(n, n + 1), z, parallel, target);
          return z;
        },
        kThreadedElements);
  }
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& parallel, Target target) {
        std::vector<float> y = AwkwardFloats(n, n);
        Axpy(-1.1F, AwkwardFloats(n, n + 1), y, parallel, target);
        Scale(0.7F, y, y, parallel, target);
        Clamp(-50, 1e30F, y, y, parallel, target);
        AddRounded(1024, 0x1p-10F, AwkwardFloats(n, n + 2), y, parallel, target);
        return y;
      },
      kThreadedElements);
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& parallel, Target target) {
        std::vector<float> y = AwkwardFloats(n, n);
        Relu(y, y, parallel, target);
        return y;
      },
      kThreadedElements);
}

}  // namespace
}  // namespace shoal::kernels
