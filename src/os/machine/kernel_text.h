// Kernel text: the few shapes in which /proc and /sys say things. Pure functions over
// bytes that some vendor's driver wrote: no input aborts, and none allocates more than
// a few times its size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal::os {

// Without spaces, line ends and NULs (device trees end strings with one) on both sides.
std::string_view Trim(std::string_view text);

// A decimal number, or one in hexadecimal after 0x, and nothing else but spaces.
std::optional<std::int64_t> ParseInteger(std::string_view text);

// A decimal number without a sign such as "0.31" or "7", and nothing else but spaces.
std::optional<double> ParseFraction(std::string_view text);

// "0-3,6" -> 0 1 2 3 6, sorted, each once. kCorruption: not such a list, or a number
// from kCpusMax on.
Result<std::vector<int>> ParseCpuList(std::string_view text);
// More than any machine has; keeps a nonsense list from becoming gigabytes.
inline constexpr int kCpusMax = 4096;

// Calls f(key, value) for every line "key : value", both trimmed; skips other lines.
template <class F>
void ForEachField(std::string_view text, F f) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    f(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
}

// The value of the first line "key : value" with that key.
std::optional<std::string_view> FindField(std::string_view text, std::string_view key);

// A number after the key with " kB" behind it, in bytes, as in /proc/meminfo.
std::optional<std::uint64_t> FindKilobytes(std::string_view text, std::string_view key);

}  // namespace shoal::os
