#include "nn/conv_times.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <system_error>

namespace shoal::nn {
namespace {

constexpr std::string_view kHeader =
    "# Which convolution is the fastest here, as Shoal measured it. Safe to delete.\n";
constexpr std::string_view kUnit = " ms";

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

Status Wrong(std::size_t line, std::string_view what) {
  return {Code::kInvalidArgument,
          "convolution times, line " + std::to_string(line) + ": " + std::string(what)};
}

// "row 1.234 ms"
bool ParseTime(std::string_view text, ConvTime& time) {
  const std::size_t blank = text.find(' ');
  if (blank == 0 || blank == std::string_view::npos || !text.ends_with(kUnit)) return false;
  time.row = text.substr(0, blank);
  std::string_view number = Trim(text.substr(blank));
  number = Trim(number.substr(0, number.size() - kUnit.size() + 1));
  double milliseconds = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), milliseconds);
  if (error != std::errc() || end != number.data() + number.size()) return false;
  time.seconds = milliseconds * 1e-3;
  return std::isfinite(milliseconds) && milliseconds >= 0;
}

// With a point in every locale.
std::string Milliseconds(double seconds) {
  char digits[64];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), seconds * 1e3,
                                 std::chars_format::fixed, 4);
  return end.ec == std::errc() ? std::string(std::begin(digits), end.ptr) : "0";
}

// Takes the first line off `text`.
std::string_view NextLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return Trim(line);
}

}  // namespace

std::string SectionName(std::string_view text) {
  std::string name(Trim(text));
  for (char& c : name) {
    const bool plain = static_cast<unsigned char>(c) >= ' ' && c != '[' && c != ']';
    if (!plain) c = '_';
  }
  return name;
}

Result<ConvTimes> ParseConvTimes(std::string_view text) {
  if (text.size() > kConvTimesBytesMax) {
    return Status(Code::kInvalidArgument, "convolution times: longer than 4 MiB");
  }
  ConvTimes times;
  std::map<std::string, ConvTime>* section = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = NextLine(text);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      if (line.back() != ']') return Wrong(number, "a section without its closing bracket");
      section = &times[SectionName(line.substr(1, line.size() - 2))];
      continue;
    }
    if (section == nullptr) return Wrong(number, "a time before the first section");
    const std::size_t colon = line.find(": ");
    ConvTime time;
    if (colon == 0 || colon == std::string_view::npos || !ParseTime(line.substr(colon + 2), time)) {
      return Wrong(number, "is not `pass: row milliseconds ms`");
    }
    (*section)[std::string(line.substr(0, colon))] = time;
  }
  return times;
}

std::string ToText(const ConvTimes& times) {
  std::string text(kHeader);
  for (const auto& [section, passes] : times) {
    if (passes.empty()) continue;
    text += "\n[" + section + "]\n";
    for (const auto& [pass, time] : passes) {
      text += pass + ": " + time.row + " " + Milliseconds(time.seconds) + std::string(kUnit) + "\n";
    }
  }
  return text;
}

}  // namespace shoal::nn
