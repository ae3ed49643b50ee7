#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace shoal {
namespace {

Result<std::unique_ptr<int>> Parse(int v) {
  if (v < 0) return Status(Code::kInvalidArgument, "negative");
  return std::make_unique<int>(v);
}
Status Twice(int v, int* out) {
  SHOAL_ASSIGN_OR_RETURN(auto p, Parse(v));
  SHOAL_ASSIGN_OR_RETURN(const auto q, Parse(v));
  *out = *p + *q;
  return {};
}
Status Outer(int v, int* out) {
  SHOAL_RETURN_IF_ERROR(Twice(v, out).Annotate("outer"));
  return {};
}

TEST(StatusTest, PropagatesWithContext) {
  int out = 0;
  EXPECT_TRUE(Outer(4, &out).ok());
  EXPECT_EQ(out, 8);
  EXPECT_EQ(Outer(-1, &out).message(), "outer: negative");
}

TEST(StatusTest, SaysCodeAndMessage) {
  EXPECT_EQ(Status().ToString(), "ok");
  EXPECT_EQ(Status(Code::kUnavailable, "connection refused").ToString(),
            "unavailable: connection refused");
}

TEST(StatusTest, AnnotatingSuccessChangesNothing) {
  EXPECT_EQ(Status().Annotate("load").ToString(), "ok");
}

TEST(ResultDeathTest, ValueOfAFailureIsABug) {
  Result<std::unique_ptr<int>> failed = Parse(-1);
  EXPECT_DEATH((void)*failed, "check failed: ok\\(\\)");
  EXPECT_DEATH(static_cast<void>(Result<int>{Status()}), "check failed");
}

}  // namespace
}  // namespace shoal
