#include "llm/draft.h"

#include <algorithm>

namespace shoal::llm {
namespace {

constexpr std::size_t kEndingMax = 3;
constexpr std::size_t kEndingMin = 2;
// Further back, looking costs more than guessing gains.
constexpr std::size_t kLookBack = 8192;

}  // namespace

std::vector<std::int32_t> GuessNext(std::span<const std::int32_t> history, std::size_t count) {
  const std::size_t n = history.size();
  for (std::size_t length = kEndingMax; length >= kEndingMin; --length) {
    if (n <= length) continue;
    const std::span<const std::int32_t> ending = history.last(length);
    const std::size_t oldest = n > kLookBack ? n - kLookBack : 0;
    for (std::size_t at = n - length; at-- > oldest;) {
      if (!std::equal(ending.begin(), ending.end(),
                      history.begin() + static_cast<std::ptrdiff_t>(at))) {
        continue;
      }
      const std::span<const std::int32_t> found = history.subspan(at + length);
      const std::size_t taken = std::min(count, found.size());
      return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(taken)};
    }
  }
  return {};
}

}  // namespace shoal::llm
