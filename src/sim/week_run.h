// RunWeek: a week of a shelf of phones that serves all day and night, with the production code that
// decides who holds what (coordinator/lines.h: beliefs about speed, balancing, repairs), driven by
// telemetry every ten seconds of virtual time. Phones get hot and cool, half of them are charged at
// night only, one takes three times as long as it promised, links are away for a while.
//
// No frame is sent and no number computed: what a route gives is priced by pipeline/plan_costs.h
// with the true speeds of the moment. Beside it an oracle works the same phones in a week of its
// own: it knows their speeds and plans anew all the time, at no cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace shoal::sim {

struct WeekOptions {
  std::uint64_t seed = 1;
  std::size_t phones = 24;
  Duration duration = std::chrono::hours(7 * 24);
  std::size_t users = 64;  // Who ask all the time.
  // Lines of the head; may be empty.
  std::function<void(const std::string&)> news;
};

struct WeekResult {
  std::string failure;  // Empty: the pipeline was sound all the time.
  double tokens = 0;
  double oracle_tokens = 0;
  double share() const { return tokens / oracle_tokens; }
  double down_hours = 0;      // No pipeline ran, although there were phones for one.
  std::uint64_t epochs = 0;   // Routes that ran.
  std::uint64_t changes = 0;  // Nodes whose layers changed from one to the next, of all of them.
  // Of these, for whatever reason but that the node itself was gone, had to rest or had just come.
  std::uint64_t moves = 0;
  std::uint64_t moves_hour_max = 0;  // Of those, of one node in any hour.
  double battery_least = 1;          // Of any phone at work.
  std::string ToString() const;
};

WeekResult RunWeek(const WeekOptions& options);

}  // namespace shoal::sim
