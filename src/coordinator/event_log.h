// EventLog: what happened in the cluster lately, in plain words, for those who look later.
//
// A plain value: it is told the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace shoal::coordinator {

struct Event {
  std::int64_t unix_time = 0;
  std::string text;
  bool operator==(const Event&) const = default;
};

class EventLog {
 public:
  // Some hours of a cluster in which phones come and go; one screen shows a dozen.
  static constexpr std::size_t kEventsMax = 500;
  // Nodes send parts of these texts.
  static constexpr std::size_t kTextBytesMax = 500;

  // The oldest is forgotten when there are too many; a text that is too long is cut.
  void Add(std::int64_t unix_time, std::string text);
  // The oldest first.
  const std::deque<Event>& events() const { return events_; }

 private:
  std::deque<Event> events_;
};

}  // namespace shoal::coordinator
