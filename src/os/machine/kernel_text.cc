#include "os/machine/kernel_text.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace shoal::os {
namespace {

constexpr std::string_view kBlank(" \t\r\n\0", 5);

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// One CPU number at the front of `text`, which it is removed from.
std::optional<int> TakeCpu(std::string_view& text) {
  int cpu = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (error != std::errc() || cpu < 0 || cpu >= kCpusMax) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return cpu;
}

// "3" or "0-3" at the front of `text`.
std::optional<std::pair<int, int>> TakeRange(std::string_view& text) {
  const std::optional<int> first = TakeCpu(text);
  if (!first || !StartsWith(text, "-"))
    return first ? std::optional(std::pair(*first, *first)) : std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> last = TakeCpu(text);
  if (!last || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  text = Trim(text);
  const bool hexadecimal = StartsWith(text, "0x");
  if (hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, value, hexadecimal ? 16 : 10);
  if (text.empty() || error != std::errc() || end != stop) return std::nullopt;
  return value;
}

// libc++ has no from_chars for double, and strtod follows the locale.
std::optional<double> ParseFraction(std::string_view text) {
  text = Trim(text);
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) {
    const std::optional<std::int64_t> whole = ParseInteger(text);
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  }
  constexpr std::size_t kDigitsMax = 9;  // Their power of ten is exact; the kernel prints two.
  const std::string_view decimals = text.substr(point + 1);
  const std::optional<std::int64_t> whole = ParseInteger(text.substr(0, point));
  const std::optional<std::int64_t> part = ParseInteger(decimals);
  if (!whole || !part || decimals.size() > kDigitsMax) return std::nullopt;
  double scale = 1;
  for (std::size_t i = 0; i < decimals.size(); ++i) scale *= 10;
  return static_cast<double>(*whole) + static_cast<double>(*part) / scale;
}

Result<std::vector<int>> ParseCpuList(std::string_view text) {
  text = Trim(text);
  std::vector<int> cpus;
  while (true) {
    const auto range = TakeRange(text);
    // Ranges that overlap would let a short text stand for a long list.
    if (!range || (!cpus.empty() && range->first <= cpus.back())) break;
    for (int cpu = range->first; cpu <= range->second; ++cpu) cpus.push_back(cpu);
    if (text.empty()) return cpus;
    if (!StartsWith(text, ",")) break;
    text.remove_prefix(1);
  }
  return Status(Code::kCorruption, "not a list of CPUs");
}

std::optional<std::string_view> FindField(std::string_view text, std::string_view key) {
  std::optional<std::string_view> found;
  ForEachField(text, [&](std::string_view k, std::string_view value) {
    if (!found && k == key) found = value;
  });
  return found;
}

std::optional<std::uint64_t> FindKilobytes(std::string_view text, std::string_view key) {
  std::string_view value = FindField(text, key).value_or("");
  constexpr std::string_view kUnit = " kB";
  if (value.size() < kUnit.size() || value.substr(value.size() - kUnit.size()) != kUnit) {
    return std::nullopt;
  }
  value.remove_suffix(kUnit.size());
  const std::optional<std::int64_t> kilobytes = ParseInteger(value);
  constexpr std::int64_t kKilobytesMax = std::numeric_limits<std::int64_t>::max() / 1024;
  if (!kilobytes || *kilobytes < 0 || *kilobytes > kKilobytesMax) return std::nullopt;
  return static_cast<std::uint64_t>(*kilobytes) * 1024;
}

}  // namespace shoal::os
