#include "tensor/arena.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace shoal {
namespace {

TEST(ArenaTest, SlicesAreAlignedAndApart) {
  Result<Arena> arena = Arena::Make(4096);
  ASSERT_TRUE(arena.ok());
  Result<TensorView> a = arena->Allocate(DType::kI8, {1});
  Result<TensorView> b = arena->Allocate(DType::kI8, {1});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(b->bytes() - a->bytes(), static_cast<std::ptrdiff_t>(kTensorAlignment));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a->bytes()) % kTensorAlignment, 0U);
}

TEST(ArenaTest, RewindGivesBackAndPeakRemembers) {
  Result<Arena> arena = Arena::Make(4096);
  ASSERT_TRUE(arena.ok());
  const Arena::Mark mark = arena->mark();
  Result<TensorView> first = arena->Allocate(DType::kF32, {512});
  ASSERT_TRUE(first.ok());
  arena->Rewind(mark);
  EXPECT_EQ(arena->used(), 0U);
  EXPECT_EQ(arena->peak(), 2048U);
  Result<TensorView> second = arena->Allocate(DType::kF32, {1024});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->bytes(), first->bytes());
}

TEST(ArenaTest, FullSaysHowMuchIsMissing) {
  Result<Arena> arena = Arena::Make(1024);
  ASSERT_TRUE(arena.ok());
  ASSERT_TRUE(arena->Allocate(DType::kI8, {1000}).ok());
  const Result<TensorView> more = arena->Allocate(DType::kF32, {16});
  EXPECT_EQ(more.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(more.status().message(),
            "arena of 1024 bytes has 24 left; a tensor of shape [16] needs 64");
}

}  // namespace
}  // namespace shoal
