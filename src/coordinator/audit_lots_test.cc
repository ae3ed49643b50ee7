#include "coordinator/audit_lots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace shoal::coordinator {
namespace {

constexpr NodeId kNode{7};

TEST(AuditLots, AllOrNothing) {
  Random random(1);
  AuditLots all(1, random);
  AuditLots none(0, random);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(all.Draw(kNode)) << i;
    EXPECT_FALSE(none.Draw(kNode)) << i;
  }
}

TEST(AuditLots, EveryNodeHasItsShareAndIsNotPassedOver) {
  Random random(2);
  AuditLots lots(0.2, random);
  for (std::uint64_t node = 1; node <= 5; ++node) {
    int drawn = 0;
    int passed_over = 0;
    int longest = 0;
    for (int i = 0; i < 1000; ++i) {
      const bool draws = lots.Draw(NodeId{node});
      drawn += draws ? 1 : 0;
      passed_over = draws ? 0 : passed_over + 1;
      longest = std::max(longest, passed_over);
    }
    EXPECT_NEAR(drawn, 200, 1);
    EXPECT_LT(longest, 10);
  }
}

// Where in five pieces the drawn one lies cannot be known.
TEST(AuditLots, EachPieceIsAsLikely) {
  Random random(3);
  std::array<int, 5> drawn{};
  for (int i = 0; i < 10'000; ++i) {
    AuditLots lots(0.2, random);
    for (int& count : drawn) count += lots.Draw(kNode) ? 1 : 0;
  }
  for (const int count : drawn) EXPECT_NEAR(count, 2000, 200);
}

}  // namespace
}  // namespace shoal::coordinator
