// Which records of a data set a worker has, as TrainReady says it: a bit each, the lowest first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::train {

// With more records, those beyond are not told of: they are sent again.
inline constexpr std::int64_t kRecordBitsMax = std::int64_t{1} << 20U;

// REQUIRES: indices are in order, and none below 0.
std::string WriteRecordBits(std::span<const std::int64_t> indices);
std::vector<std::int64_t> ReadRecordBits(std::string_view bits);

}  // namespace shoal::train
