#include "base/work_rules.h"

#include <charconv>

namespace shoal {
namespace {

constexpr int kMinutesPerHour = 60;

// "7", "07" or "7:30"; at most `max`, in minutes.
std::optional<int> ParseTime(std::string_view text, int max) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    if (digits.empty() || digits.size() > 2 ||
        digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  const std::size_t colon = text.find(':');
  const std::optional<int> hours = number(text.substr(0, colon));
  const std::optional<int> minutes =
      colon == std::string_view::npos ? 0 : number(text.substr(colon + 1));
  if (!hours || !minutes || *minutes >= kMinutesPerHour) return std::nullopt;
  const int time = *hours * kMinutesPerHour + *minutes;
  return time <= max ? std::optional(time) : std::nullopt;
}

std::string FormatTime(int minutes) {
  const int rest = minutes % kMinutesPerHour;
  std::string text = std::to_string(minutes / kMinutesPerHour);
  if (rest != 0) text += (rest < 10 ? ":0" : ":") + std::to_string(rest);
  return text;
}

}  // namespace

bool DayHours::Contains(int minute) const {
  if (IsAlways()) return true;
  if (begin < end) return minute >= begin && minute < end;
  return minute >= begin || minute < end;
}

std::string DayHours::ToString() const {
  return IsAlways() ? "always" : FormatTime(begin) + "-" + FormatTime(end);
}

Result<DayHours> ParseDayHours(std::string_view text) {
  if (text == "always") return DayHours{};
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<int> begin = ParseTime(text.substr(0, dash), kMinutesPerDay - 1);
    const std::optional<int> end = ParseTime(text.substr(dash + 1), kMinutesPerDay);
    if (begin && end && *begin != *end) return DayHours{*begin, *end};
  }
  return Status(Code::kInvalidArgument,
                "hours are written as 22-7, 8:30-17 or always, from the first until the second, "
                "not as \"" +
                    std::string(text) + "\"");
}

Status CheckWorkRules(const WorkRules& rules) {
  // Written so that what is no number fails, too.
  if (rules.duty && !(*rules.duty >= 0.01 && *rules.duty <= 1)) {
    return {Code::kInvalidArgument, "duty: from 0.01 to 1"};
  }
  if (rules.floor && !(*rules.floor >= 0 && *rules.floor <= 0.9)) {
    return {Code::kInvalidArgument, "floor_percent: from 0 to 90"};
  }
  const auto in_day = [](int minute) { return minute >= 0 && minute <= kMinutesPerDay; };
  if (rules.hours && !(in_day(rules.hours->begin) && in_day(rules.hours->end))) {
    return {Code::kInvalidArgument, "hours: from 0 to 24"};
  }
  return {};
}

}  // namespace shoal
