#include <gtest/gtest.h>

#include <chrono>

#include "os/net/unsent_limit_internal.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;

// A link that takes `bytes_per_second`, written to as fast as it goes.
void WriteFor(UnsentLimit& limit, Instant& now, double bytes_per_second, Duration time) {
  for (const Instant end = now + time; now < end; now = now + milliseconds(1)) {
    limit.OnWritten(static_cast<std::size_t>(bytes_per_second / 1000));
    limit.OnFull(now);
  }
}

TEST(UnsentLimitTest, HoldsMillisecondsOfTheLink) {
  UnsentLimit limit;
  Instant now;
  EXPECT_EQ(limit.bytes(), UnsentLimit::kBytesMin);
  WriteFor(limit, now, 1.25e6, milliseconds(200));  // 10 Mb/s
  EXPECT_EQ(limit.bytes(), UnsentLimit::kBytesMin);
  WriteFor(limit, now, 31.25e6, milliseconds(200));  // 250 Mb/s
  EXPECT_EQ(limit.bytes(), std::size_t{256} << 10);
  WriteFor(limit, now, 1e9, milliseconds(200));
  EXPECT_EQ(limit.bytes(), UnsentLimit::kBytesMax);
  WriteFor(limit, now, 1.25e6, milliseconds(50));
  EXPECT_EQ(limit.bytes(), UnsentLimit::kBytesMin);
}

TEST(UnsentLimitTest, ABurstAfterSilenceIsNoRate) {
  UnsentLimit limit;
  Instant now;
  for (int i = 0; i < 100; ++i) {
    limit.OnWritten(std::size_t{4} << 20);  // Into empty buffers.
    EXPECT_FALSE(limit.OnFull(now));
    limit.OnIdle();
    now = now + milliseconds(100);
  }
  EXPECT_EQ(limit.bytes(), UnsentLimit::kBytesMin);
}

}  // namespace
}  // namespace shoal::os
