// Ranges of elements, and how they are cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/schedule.h"

namespace shoal::collective {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  constexpr std::uint64_t size() const { return end - begin; }
};

// The i-th of `parts` parts, which differ by one element at most.
constexpr Range Part(Range whole, std::size_t parts, std::size_t i) {
  return {whole.begin + whole.size() * i / parts, whole.begin + whole.size() * (i + 1) / parts};
}

// Into how many messages a range of so many elements is cut; at least one.
constexpr std::size_t PieceCount(std::uint64_t elements, const Pieces& pieces) {
  if (elements == 0 || pieces.elements == 0) return 1;
  return static_cast<std::size_t>((elements + pieces.elements - 1) / pieces.elements);
}

// Messages that may be sent before the first is received.
constexpr std::size_t Window(const Pieces& pieces) { return pieces.ahead == 0 ? 1 : pieces.ahead; }

}  // namespace shoal::collective
