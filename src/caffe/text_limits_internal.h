// What a text may ask of the parser: bounded size, bounded depth, a bounded number of blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::caffe::internal {

// The largest public prototxt files have half a megabyte and a few thousand blocks, 5 deep.
inline constexpr std::size_t kMaxTextBytes = std::size_t{8} << 20;
inline constexpr int kMaxTextDepth = 32;
inline constexpr int kMaxTextBlocks = 100'000;

// "net.prototxt:12:5"; line and column count from 1.
std::string Place(std::string_view file, int line, int column);

// Refuses what is no text at all, and texts beyond the limits. Protobuf's parser limits the depth
// of messages it knows, but not of those it skips, and does not limit their number.
Status CheckTextLimits(std::string_view file, std::string_view text);

}  // namespace shoal::caffe::internal
