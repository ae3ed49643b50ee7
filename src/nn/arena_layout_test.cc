#include "nn/arena_layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace shoal::nn {
namespace {

bool Overlap(const Lifetime& a, const Lifetime& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  const bool in_space = a.offset < b.offset + b.floats && b.offset < a.offset + a.floats;
  return in_time && in_space;
}

TEST(ArenaLayoutTest, ThingsThatNeverMeetShareTheirPlace) {
  std::vector<Lifetime> things = {{.floats = 100, .first = 0, .last = 1},
                                  {.floats = 90, .first = 2, .last = 3},
                                  {.floats = 10, .first = 1, .last = 2}};
  EXPECT_EQ(LayOut(things), 112U + 16U);
  EXPECT_EQ(things[0].offset, 0U);
  EXPECT_EQ(things[1].offset, 0U);
  EXPECT_EQ(things[2].offset, 112U);
}

TEST(ArenaLayoutTest, NothingNeedsNoPlace) {
  std::vector<Lifetime> things = {{.floats = 0, .first = 0, .last = 9}};
  EXPECT_EQ(LayOut(things), 0U);
  EXPECT_EQ(LayOut({}), 0U);
  EXPECT_EQ(LargestStep({}), 0U);
}

TEST(ArenaLayoutTest, RandomThingsNeverOverlapAndComeCloseToTheBound) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<Lifetime> things;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<std::size_t>(random.Below(40));
      things.push_back({.floats = static_cast<std::size_t>(random.Below(1000)) + 1,
                        .first = first,
                        .last = first + static_cast<std::size_t>(random.Below(10))});
    }
    const std::size_t size = LayOut(things);
    for (std::size_t i = 0; i < things.size(); ++i) {
      EXPECT_EQ(things[i].offset % 16, 0U);
      EXPECT_LE(things[i].offset + things[i].floats, size);
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(Overlap(things[i], things[j])) << seed;
    }
    EXPECT_GE(size, LargestStep(things));
    EXPECT_LE(size, LargestStep(things) * 3 / 2) << seed;
  }
}

}  // namespace
}  // namespace shoal::nn
