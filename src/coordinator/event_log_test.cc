#include "coordinator/event_log.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::coordinator {
namespace {

TEST(EventLogTest, KeepsTheLastInOrder) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kEventsMax + 3; ++i) {
    log.Add(static_cast<std::int64_t>(i), "event " + std::to_string(i));
  }
  ASSERT_EQ(log.events().size(), EventLog::kEventsMax);
  EXPECT_EQ(log.events().front(), (Event{3, "event 3"}));
  EXPECT_EQ(log.events().back().text, "event " + std::to_string(EventLog::kEventsMax + 2));
}

TEST(EventLogTest, CutsWhatNobodyReads) {
  EventLog log;
  log.Add(1, std::string(100'000, 'x'));
  EXPECT_LT(log.events().front().text.size(), EventLog::kTextBytesMax + 10);
}

}  // namespace
}  // namespace shoal::coordinator
