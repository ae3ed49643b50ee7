#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "kernels/dequantize.h"

namespace shoal::kernels {
namespace {

std::vector<std::byte> Blocks(DType dtype, const std::vector<float>& x) {
  const DTypeInfo& info = Info(dtype);
  std::vector<std::byte> blocks(x.size() / info.block_elements * info.block_bytes);
  Quantize(dtype, x, blocks);
  return blocks;
}

std::vector<float> RoundTrip(DType dtype, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  Dequantize(dtype, Blocks(dtype, x), y);
  return y;
}

double RelativeError(const std::vector<float>& x, const std::vector<float>& y) {
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
    norm += std::pow(static_cast<double>(x[i]), 2);
  }
  return std::sqrt(error / norm);
}

// As a layer's weights: normal, of the usual size.
std::vector<float> Weights(std::size_t count) {
  Random random(7);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(0.02 * random.Normal());
  return x;
}

// Root mean square error over that of the weights. The bounds are a few percent above what we
// reach; in brackets what the obvious scale (largest magnitude on the last step) gives.
TEST(QuantizeTest, ErrorOnNormalWeights) {
  const std::vector<float> x = Weights(256 * 400);
  const struct {
    DType dtype;
    double bound;
  } cases[] = {
      {DType::kF32, 0.0},    {DType::kF16, 2.2e-4}, {DType::kBF16, 1.8e-3}, {DType::kQ8_0, 5.5e-3},
      {DType::kQ4_0, 0.081}, {DType::kQ4_1, 0.070}, {DType::kQ5_0, 0.042},  {DType::kQ5_1, 0.036},
      {DType::kQ4_K, 0.072}, {DType::kQ5_K, 0.037}, {DType::kQ6_K, 0.0185},
  };
  for (const auto& c : cases) {
    EXPECT_LE(RelativeError(x, RoundTrip(c.dtype, x)), c.bound) << c.dtype;
  }
}

TEST(QuantizeTest, TheSearchBeatsTheObviousScale) {
  const std::vector<float> x = Weights(256 * 40);
  std::vector<float> obvious(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += 32) {
    float extreme = 0.0F;
    for (std::size_t i = begin; i < begin + 32; ++i) {
      if (std::abs(x[i]) > std::abs(extreme)) extreme = x[i];
    }
    const float scale = -extreme / 8.0F;
    for (std::size_t i = begin; i < begin + 32; ++i) {
      obvious[i] = scale * std::clamp(std::round(x[i] / scale), -8.0F, 7.0F);
    }
  }
  EXPECT_LT(RelativeError(x, RoundTrip(DType::kQ4_0, x)), 0.95 * RelativeError(x, obvious));
}

std::vector<DType> Quantisers() {
  std::vector<DType> dtypes;
  for (const DType dtype : AllDTypes()) {
    if (CanQuantize(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

TEST(QuantizeTest, Which) {
  EXPECT_EQ(Quantisers().size(), 11U);
  EXPECT_FALSE(CanQuantize(DType::kI8));
  EXPECT_FALSE(CanQuantize(DType::kIQ4_XS));
}

TEST(QuantizeTest, ZerosStayZeros) {
  const std::vector<float> zeros(256, 0.0F);
  for (const DType dtype : Quantisers()) EXPECT_EQ(RoundTrip(dtype, zeros), zeros) << dtype;
}

// One value for all is on a step of every type, up to the rounding of scales.
TEST(QuantizeTest, ConstantsStayConstants) {
  for (const float value : {1.0F, -3.0F, 0.01F}) {
    const std::vector<float> x(256, value);
    for (const DType dtype : Quantisers()) {
      for (const float y : RoundTrip(dtype, x))
        EXPECT_NEAR(y, value, std::abs(value) * 4e-3F) << dtype;
    }
  }
}

// What a dequantised tensor holds must survive being quantised again: converting a file twice does
// not make it worse.
TEST(QuantizeTest, QuantisingAgainLosesLittle) {
  const std::vector<float> x = Weights(256 * 40);
  for (const DType dtype : Quantisers()) {
    const std::vector<float> once = RoundTrip(dtype, x);
    EXPECT_LE(RelativeError(once, RoundTrip(dtype, once)), 0.2 * RelativeError(x, once)) << dtype;
  }
}

// Nothing that is finite may give a scale that is not.
TEST(QuantizeTest, ExtremesStayFinite) {
  Random random(3);
  for (const float largest : {1e-45F, 1e-38F, 1e-12F, 7e4F, 1e20F, 3.4e38F}) {
    std::vector<float> x(256);
    for (float& value : x) value = largest * static_cast<float>(2.0 * random.Unit() - 1.0);
    for (const DType dtype : Quantisers()) {
      for (const float y : RoundTrip(dtype, x)) EXPECT_TRUE(std::isfinite(y)) << dtype << largest;
    }
  }
}

TEST(QuantizeTest, AnOutlierDoesNotSpoilOtherGroups) {
  std::vector<float> x = Weights(256);
  x[200] = 1.0F;
  const std::vector<float> y = RoundTrip(DType::kQ4_K, x);
  const std::vector<float> head_x(x.begin(), x.begin() + 192);
  const std::vector<float> head_y(y.begin(), y.begin() + 192);
  EXPECT_LT(RelativeError(head_x, head_y), 0.2);
}

TEST(DequantizeTest, ABlockWithoutAFiniteScaleIsNaN) {
  std::vector<std::byte> blocks = Blocks(DType::kQ4_0, Weights(64));
  blocks[1] = std::byte{0x7c};  // The first block's scale: infinity.
  blocks[0] = std::byte{0};
  std::vector<float> y(64);
  Dequantize(DType::kQ4_0, blocks, y);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[31]));
  EXPECT_FALSE(std::isnan(y[32]));
}

}  // namespace
}  // namespace shoal::kernels
