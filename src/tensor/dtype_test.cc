#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kI32}) {
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

TEST(DTypeTest, KnowsItsElements) {
  EXPECT_TRUE(IsElementOf<float>(DType::kF32));
  EXPECT_TRUE(IsElementOf<std::uint16_t>(DType::kF16));
  EXPECT_FALSE(IsElementOf<float>(DType::kF16));
  EXPECT_FALSE(IsElementOf<std::int8_t>(DType::kI32));
}

}  // namespace
}  // namespace shoal
