#include "coordinator/event_log.h"

#include <utility>

namespace shoal::coordinator {

void EventLog::Add(std::int64_t unix_time, std::string text) {
  if (text.size() > kTextBytesMax) {
    text.resize(kTextBytesMax);
    text += " …";
  }
  events_.push_back({unix_time, std::move(text)});
  if (events_.size() > kEventsMax) events_.pop_front();
}

}  // namespace shoal::coordinator
