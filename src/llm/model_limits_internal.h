// What readers of configurations accept: far above any model, and small enough that products of
// three extents are countable.
#pragma once

#include <cstdint>

namespace shoal::llm::internal {

inline constexpr std::uint64_t kExtentMax = 1U << 20U;
inline constexpr std::uint64_t kLayersMax = 1024;
inline constexpr std::uint64_t kExpertsMax = 4096;
inline constexpr std::uint64_t kContextMax = std::uint64_t{1} << 31U;

}  // namespace shoal::llm::internal
