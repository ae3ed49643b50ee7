// LayOut: places things that live from one step to another into one arena, so that things which
// live at the same time do not overlap, and the arena is small.
#pragma once

#include <cstddef>
#include <span>

namespace shoal::nn {

struct Lifetime {
  std::size_t floats = 0;
  std::size_t first = 0;  // Steps, both included.
  std::size_t last = 0;
  std::size_t offset = 0;  // The result; a multiple of a cache line.
};

// Sets the offsets and returns the size of the arena in floats. Largest first, each at the lowest
// offset that is free while it lives: within some percent of the lower bound for our networks.
std::size_t LayOut(std::span<Lifetime> things);

// The most floats that live at one step: no arena can be smaller.
std::size_t LargestStep(std::span<const Lifetime> things);

}  // namespace shoal::nn
