#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shoal {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({5, 0, 7}).elements(), 0);
  EXPECT_EQ(Shape({5, 3, 7}).row_elements(), 21);
  EXPECT_EQ(Shape({0, 3, 7}).row_elements(), 21);
  EXPECT_EQ(ToString(Shape{2, 3}), "[2, 3]");
}

TEST(ShapeTest, ExtentsFromOutsideAreChecked) {
  const auto code = [](std::vector<std::int64_t> extents) {
    return Shape::Make(extents).status().code();
  };
  EXPECT_EQ(code({-1, 2}), Code::kInvalidArgument);
  EXPECT_EQ(code({kHuge, 2}), Code::kInvalidArgument);
  EXPECT_EQ(code({0, kHuge, kHuge}), Code::kInvalidArgument);  // Its rows are not countable.
  EXPECT_EQ(code(std::vector<std::int64_t>(9, 1)), Code::kInvalidArgument);
  EXPECT_EQ(code({kHuge}), Code::kOk);
}

TEST(ShapeTest, ByteSizeKnowsItsLimit) {
  Result<std::size_t> bytes = ByteSize(DType::kF16, {3, 5});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, 30U);
  EXPECT_EQ(ByteSize(DType::kF32, Shape{kHuge}).status().code(), Code::kResourceExhausted);
}

TEST(ShapeTest, WithFirstKeepsTheRest) { EXPECT_EQ(Shape({5, 3}).WithFirst(2), Shape({2, 3})); }

}  // namespace
}  // namespace shoal
