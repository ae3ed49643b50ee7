#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (const DType dtype : AllDTypes()) {
    EXPECT_EQ(ParseDType(Info(dtype).name), dtype);
  }
  EXPECT_EQ(ParseDType("f64"), std::nullopt);
}

TEST(DTypeTest, SizesAreThoseOfTheElements) {
  EXPECT_EQ(Info(DType::kF32).block_bytes, sizeof(float));
  EXPECT_EQ(Info(DType::kF16).block_bytes, sizeof(std::uint16_t));
  EXPECT_EQ(Info(DType::kBF16).block_bytes, sizeof(std::uint16_t));
  EXPECT_EQ(Info(DType::kI8).block_bytes, sizeof(std::int8_t));
  EXPECT_EQ(Info(DType::kI32).block_bytes, sizeof(std::int32_t));
}

// What people say of a file: a "q4_K" weight takes 4.5 bits.
TEST(DTypeTest, BitsPerWeightOfQuantisedTypes) {
  const auto bits = [](DType dtype) {
    return 8.0 * static_cast<double>(Info(dtype).block_bytes) /
           static_cast<double>(Info(dtype).block_elements);
  };
  EXPECT_EQ(bits(DType::kQ4_0), 4.5);
  EXPECT_EQ(bits(DType::kQ8_0), 8.5);
  EXPECT_EQ(bits(DType::kQ2_K), 2.625);
  EXPECT_EQ(bits(DType::kQ3_K), 3.4375);
  EXPECT_EQ(bits(DType::kQ4_K), 4.5);
  EXPECT_EQ(bits(DType::kQ6_K), 6.5625);
  EXPECT_EQ(bits(DType::kIQ2_XXS), 2.0625);
  EXPECT_EQ(bits(DType::kIQ4_XS), 4.25);
}

TEST(DTypeTest, KnowsItsElements) {
  EXPECT_TRUE(IsElementOf<float>(DType::kF32));
  EXPECT_TRUE(IsElementOf<std::uint16_t>(DType::kF16));
  EXPECT_FALSE(IsElementOf<float>(DType::kF16));
  EXPECT_FALSE(IsElementOf<std::int8_t>(DType::kI32));
  EXPECT_FALSE(IsElementOf<std::int8_t>(DType::kQ8_0));
  EXPECT_TRUE(IsQuantized(DType::kQ4_0));
  EXPECT_FALSE(IsQuantized(DType::kI32));
}

}  // namespace
}  // namespace shoal
