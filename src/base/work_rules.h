// When, and how hard, a node may work: what its owner wishes, and what the cluster's operator says
// about a single one. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal {

inline constexpr int kMinutesPerDay = 24 * 60;

// Part of every day, in minutes after midnight: from `begin` until `end`, which may be the next
// morning. Both equal: always.
struct DayHours {
  int begin = 0;
  int end = 0;
  bool operator==(const DayHours&) const = default;

  bool IsAlways() const { return begin == end; }
  bool Contains(int minute) const;
  // As ParseDayHours reads it: "22-7", "22:30-7", "always".
  std::string ToString() const;
};

// kInvalidArgument: says how hours are written.
Result<DayHours> ParseDayHours(std::string_view text);

// What an operator says about one node. What is absent is as the node's owner wishes, or as for
// all.
struct WorkRules {
  std::optional<double> duty = {};  // Of the time, how much it may compute at most: 0.01 to 1.
  std::optional<bool> only_charging = {};
  std::optional<DayHours> hours = {};
  std::optional<double> floor = {};  // Of its battery, 0 to 0.9: it rests there.
  std::optional<bool> trusted = {};  // May hold the ends of the model (`serve --trust ends`).
  bool operator==(const WorkRules&) const = default;
};

// kInvalidArgument: a number is out of its range.
Status CheckWorkRules(const WorkRules& rules);

}  // namespace shoal
