// Goal: a RangeSet knows its elements. Method: against a vector of bools.
#include <gtest/gtest.h>

#include "base/random.h"
#include "collective/range_set_internal.h"

namespace shoal::collective {
namespace {

TEST(RangeSetTest, IsASetOfElements) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    RangeSet set;
    std::vector<bool> model(60);
    for (int step = 0; step < 15; ++step) {
      const std::uint64_t begin = random.Below(60);
      const Range range = {begin, begin + random.Below(std::min<std::uint64_t>(61 - begin, 12))};
      std::vector<bool> gaps(60);
      std::uint64_t before = range.begin;
      for (const Range gap : set.Gaps(range)) {
        ASSERT_LE(before, gap.begin);
        ASSERT_LT(gap.begin, gap.end);
        for (std::uint64_t i = gap.begin; i < gap.end; ++i) gaps[i] = true;
        before = gap.end + 1;  // Two gaps do not touch.
      }
      for (std::uint64_t i = 0; i < 60; ++i) {
        ASSERT_EQ(gaps[i], i >= range.begin && i < range.end && !model[i]) << seed << ": " << i;
      }
      set.Add(range);
      for (std::uint64_t i = range.begin; i < range.end; ++i) model[i] = true;
    }
  }
}

}  // namespace
}  // namespace shoal::collective
