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
  EXPECT_EQ(Info(kDTypeOf<float>).block_bytes, sizeof(float));
  EXPECT_EQ(Info(kDTypeOf<F16>).block_bytes, sizeof(F16));
  EXPECT_EQ(Info(kDTypeOf<BF16>).block_bytes, sizeof(BF16));
  EXPECT_EQ(Info(kDTypeOf<std::int8_t>).block_bytes, sizeof(std::int8_t));
  EXPECT_EQ(Info(kDTypeOf<std::int32_t>).block_bytes, sizeof(std::int32_t));
}

}  // namespace
}  // namespace shoal
