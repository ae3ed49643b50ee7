#include "base/check.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(CheckDeathTest, PrintsExpressionAndValues) {
  const int rank = 5;
  const int size = 4;
  SHOAL_CHECK_EQ(size, 4);
  EXPECT_DEATH(SHOAL_CHECK_LT(rank, size),
               "check_test.cc:.*check failed: rank < size \\(5 vs 4\\)");
  EXPECT_DEATH(SHOAL_CHECK(rank < size), "check failed: rank < size");
}

TEST(CheckTest, OperandsAreEvaluatedOnce) {
  int calls = 0;
  SHOAL_CHECK_EQ(++calls, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace shoal
