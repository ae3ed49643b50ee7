#include "wire/bulk_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace shoal::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A link with a queue in front of it, as an access point has: slices leave in order
// of arrival at `bits_per_second`, and are answered `path` later.
class Bottleneck {
 public:
  Bottleneck(double bits_per_second, Duration path)
      : bits_per_second_(bits_per_second), path_(path) {}

  // Sends through the window for `length`, as much as it allows.
  void Run(Duration length) {
    const Instant end = now_ + length;
    delivered_bytes_ = 0;
    queue_max_ = Duration(0);
    while (now_ < end) {
      while (const std::size_t bytes = window_.SendableBytes()) Send(bytes);
      ASSERT_FALSE(answers_.empty());
      now_ = answers_.front().at;
      ASSERT_TRUE(window_.OnAck(now_, answers_.front().received).ok());
      delivered_bytes_ += answers_.front().bytes;
      answers_.pop_front();
    }
    seconds_ = ToSeconds(length);
  }

  // Somebody else's bytes, in front of everything sent from now on.
  void Occupy(Duration time) { free_at_ = std::max(free_at_, now_) + time; }
  void SetRate(double bits_per_second) { bits_per_second_ = bits_per_second; }

  const BulkWindow& window() const { return window_; }
  double bits_per_second() const { return static_cast<double>(delivered_bytes_) * 8 / seconds_; }
  // The longest that a message sent during the last Run would have waited.
  Duration queue_max() const { return queue_max_; }

 private:
  struct Answer {
    Instant at;
    std::uint64_t received = 0;
    std::size_t bytes = 0;
  };

  void Send(std::size_t bytes) {
    const Duration takes(
        static_cast<std::int64_t>(static_cast<double>(bytes) * 8e9 / bits_per_second_));
    free_at_ = std::max(free_at_, now_) + takes;
    sent_ += bytes;
    window_.OnSent(now_, bytes);
    answers_.push_back({.at = free_at_ + path_, .received = sent_, .bytes = bytes});
    queue_max_ = std::max(queue_max_, free_at_ - now_);
  }

  double bits_per_second_;
  Duration path_;
  BulkWindow window_;
  Instant now_;
  Instant free_at_;
  std::uint64_t sent_ = 0;
  std::deque<Answer> answers_;
  std::size_t delivered_bytes_ = 0;
  Duration queue_max_{0};
  double seconds_ = 1;
};

TEST(BulkWindow, FillsASlowLinkWithoutALongQueue) {
  Bottleneck link(10e6, milliseconds(2));
  link.Run(seconds(2));
  EXPECT_LE(link.queue_max(), milliseconds(100));  // The ramp, once.
  link.Run(seconds(10));
  EXPECT_GE(link.bits_per_second(), 0.98 * 10e6);
  EXPECT_LE(link.queue_max(), milliseconds(45));
}

TEST(BulkWindow, FillsAFastLink) {
  Bottleneck link(1e9, milliseconds(1));
  link.Run(seconds(2));
  link.Run(seconds(2));
  EXPECT_GE(link.bits_per_second(), 0.98e9);
  EXPECT_LE(link.queue_max(), milliseconds(45));
}

TEST(BulkWindow, FillsALongPath) {
  Bottleneck link(100e6, milliseconds(150));
  link.Run(seconds(10));
  link.Run(seconds(10));
  EXPECT_GE(link.bits_per_second(), 0.95 * 100e6);
  EXPECT_LE(link.queue_max(), milliseconds(60));
}

TEST(BulkWindow, FollowsALinkThatBecomesSlow) {
  Bottleneck link(300e6, milliseconds(1));
  link.Run(seconds(2));
  link.SetRate(10e6);
  link.Run(seconds(4));
  link.Run(seconds(4));
  EXPECT_GE(link.bits_per_second(), 0.95 * 10e6);
  EXPECT_LE(link.queue_max(), milliseconds(50));
}

TEST(BulkWindow, YieldsToOthersAndComesBack) {
  Bottleneck link(50e6, milliseconds(2));
  link.Run(seconds(2));
  for (int burst = 0; burst < 40; ++burst) {
    link.Occupy(milliseconds(80));
    link.Run(milliseconds(90));
  }
  EXPECT_LE(link.window().window_bytes(), 2 * BulkWindow::kWindowBytesMin);
  link.Run(seconds(2));
  link.Run(seconds(2));
  EXPECT_GE(link.bits_per_second(), 0.95 * 50e6);
}

TEST(BulkWindow, DoesNotGrowWhenItIsNotUsed) {
  BulkWindow window;
  Instant now;
  for (std::uint64_t sent = 1000; sent < 1'000'000; sent += 1000) {
    window.OnSent(now, 1000);
    now = now + milliseconds(1);
    ASSERT_TRUE(window.OnAck(now, sent).ok());
  }
  EXPECT_EQ(window.window_bytes(), BulkWindow::kWindowBytesMin);
}

TEST(BulkWindow, StaysWithinItsLimits) {
  Bottleneck link(1e12, milliseconds(40));
  link.Run(seconds(5));
  EXPECT_EQ(link.window().window_bytes(), BulkWindow::kWindowBytesMax);
  EXPECT_LE(link.window().in_flight_bytes(), BulkWindow::kWindowBytesMax);
  link.SetRate(64e3);
  link.Run(seconds(2000));
  EXPECT_EQ(link.window().window_bytes(), BulkWindow::kWindowBytesMin);
}

TEST(BulkWindow, RefusesAcknowledgementsThatCannotBe) {
  BulkWindow window;
  window.OnSent(Instant(), 4096);
  EXPECT_EQ(window.OnAck(Instant(), 4097).code(), Code::kCorruption);
  ASSERT_TRUE(window.OnAck(Instant(), 4096).ok());
  EXPECT_EQ(window.OnAck(Instant(), 4095).code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::wire
