#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace shoal {
namespace {

TEST(TensorTest, IsAlignedAndZeroedOnRequest) {
  Result<Tensor> tensor = Tensor::Zeros(DType::kF32, {3, 5});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data<float>()) % kTensorAlignment, 0U);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(tensor->data<float>()[i], 0.0F);
}

TEST(TensorTest, LargeTensorsStartOnAHugePage) {
  Result<Tensor> tensor = Tensor::Make(DType::kI8, {std::int64_t{9} << 20});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data<std::int8_t>()) % (2U << 20U), 0U);
}

TEST(TensorTest, RowsAreAView) {
  Result<Tensor> tensor = Tensor::Zeros(DType::kF32, {4, 3});
  ASSERT_TRUE(tensor.ok());
  const TensorView rows = tensor->view().Rows(1, 2);
  EXPECT_EQ(rows.shape(), Shape({2, 3}));
  rows.data<float>()[0] = 7.0F;
  EXPECT_EQ(tensor->data<float>()[3], 7.0F);
  EXPECT_EQ(tensor->view().Rows(4, 0).elements(), 0);
}

TEST(TensorTest, CopyIsApart) {
  Result<Tensor> tensor = Tensor::Zeros(DType::kI32, {2});
  ASSERT_TRUE(tensor.ok());
  Result<Tensor> copy = tensor->Copy();
  ASSERT_TRUE(copy.ok());
  copy->data<std::int32_t>()[1] = 9;
  EXPECT_EQ(tensor->data<std::int32_t>()[1], 0);
}

TEST(TensorTest, EmptyTensorsAreFine) {
  Result<Tensor> tensor = Tensor::Zeros(DType::kF32, {0, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->byte_size(), 0U);
  EXPECT_TRUE(tensor->Copy().ok());
}

TEST(TensorTest, TooLargeIsAStatus) {
  const Shape huge = {std::numeric_limits<std::int64_t>::max() / 8};
  EXPECT_EQ(Tensor::Make(DType::kF32, huge).status().code(), Code::kResourceExhausted);
}

TEST(TensorDeathTest, WrongElementTypeIsABug) {
  Result<Tensor> tensor = Tensor::Zeros(DType::kF32, {1});
  ASSERT_TRUE(tensor.ok());
  EXPECT_DEATH((void)tensor->data<std::uint16_t>(), "IsElementOf");
  EXPECT_DEATH((void)tensor->view().Rows(1, 1), "check failed");
}

}  // namespace
}  // namespace shoal
