#include "os/wall_clock.h"

#include <array>
#include <chrono>
#include <ctime>

namespace shoal::os {
namespace {

std::tm LocalTime(UnixTime time) {
  const std::time_t seconds = time;
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

UnixTime UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int LocalMinute() {
  const std::tm parts = LocalTime(UnixNow());
  return parts.tm_hour * 60 + parts.tm_min;
}

std::int64_t LocalDayNow() {
  const std::tm parts = LocalTime(UnixNow());
  const std::chrono::year_month_day date{
      std::chrono::year(parts.tm_year + 1900),
      std::chrono::month(static_cast<unsigned>(parts.tm_mon + 1)),
      std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::string LocalTimeOfDay(UnixTime time) {
  const std::tm parts = LocalTime(time);
  std::array<char, 16> text = {};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &parts)};
}

}  // namespace shoal::os
