// ConvTimes: the fastest row for each pass, as text that people can read and edit:
//
//   [device AMD EPYC; workers 2; kernels 1; build 0.1.0 GNU 12.2.0; rows implicit-gemm,onednn]
//   n4 56x56x64 o64 k3x3 s1x1 p1x1 d1x1 g1 forward: onednn 1.234 ms
//
// A section is what times belong to; several may share a file. Empty lines and those that begin
// with # mean nothing.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::nn {

struct ConvTime {
  std::string row;
  double seconds = 0;
};

// Both by name: of the section, and of the pass.
using ConvTimes = std::map<std::string, std::map<std::string, ConvTime>>;

// Far more than a hundred networks need; a longer file is refused.
inline constexpr std::size_t kConvTimesBytesMax = std::size_t{4} << 20U;

// What parsing gives back: without line breaks, brackets and blanks at the ends.
std::string SectionName(std::string_view text);

Result<ConvTimes> ParseConvTimes(std::string_view text);
std::string ToText(const ConvTimes& times);

}  // namespace shoal::nn
