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
#include <memory>
#include <string>

#include "base/time.h"
#include "wire/control.h"

namespace shoal::sim {

// Whether a phone may work, as its battery has it. The production rules have the same shape.
class WeekCare {
 public:
  struct Verdict {
    bool rests = false;  // Its layers move away.
    double duty = 1;     // Of the time, how much it may compute.
  };
  virtual ~WeekCare() = default;
  // What the phone says of itself now.
  virtual Verdict Judge(const wire::pb::Telemetry& telemetry, Instant now) = 0;
};

struct WeekOptions {
  std::uint64_t seed = 1;
  std::size_t phones = 24;
  Duration duration = std::chrono::hours(7 * 24);
  std::size_t users = 64;  // Who ask all the time.
  // Makes what looks after one phone. Empty: half of the time below 20 % of the battery, resting
  // below 10 %.
  std::function<std::unique_ptr<WeekCare>()> care;
  // Lines of the head; may be empty.
  std::function<void(const std::string&)> news;
};

struct WeekResult {
  std::string failure;  // Empty: the pipeline was sound all the time.
  double tokens = 0;
  double oracle_tokens = 0;
  double share() const { return tokens / oracle_tokens; }
  double down_hours = 0;              // No pipeline ran, although there were phones for one.
  std::uint64_t epochs = 0;           // Routes that ran.
  std::uint64_t moves = 0;            // Nodes whose layers changed, of all of them, for any reason.
  std::uint64_t moves_for_speed = 0;  // Of these, not because somebody was gone or had to rest.
  std::uint64_t moves_hour_max = 0;   // Of those, of one node in one hour.
  double battery_least = 1;           // Of any phone at work.
  std::string ToString() const;
};

WeekResult RunWeek(const WeekOptions& options);

}  // namespace shoal::sim
