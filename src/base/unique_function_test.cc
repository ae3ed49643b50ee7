#include "base/unique_function.h"

#include <gtest/gtest.h>

#include <memory>

namespace shoal {
namespace {

TEST(UniqueFunctionTest, OwnsMoveOnlyState) {
  auto owned = std::make_unique<int>(41);
  UniqueFunction<int(int)> add = [owned = std::move(owned)](int x) { return *owned + x; };
  UniqueFunction<int(int)> moved = std::move(add);
  EXPECT_EQ(moved(1), 42);
}

TEST(UniqueFunctionTest, ForwardsMoveOnlyArguments) {
  UniqueFunction<int(std::unique_ptr<int>)> take = [](std::unique_ptr<int> p) { return *p; };
  EXPECT_EQ(take(std::make_unique<int>(7)), 7);
}

TEST(UniqueFunctionDeathTest, CallingNothingIsABug) {
  UniqueFunction<void()> nothing;
  EXPECT_FALSE(nothing);
  EXPECT_DEATH(nothing(), "check failed");
}

}  // namespace
}  // namespace shoal
