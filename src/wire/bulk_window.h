// BulkWindow: how much bulk may be on its way, so that it fills a link and yet
// delays nobody. Weights travel for minutes; a heartbeat that meets them in the
// access point's queue waits behind every byte that was sent ahead of it. 256 KiB
// ahead of it cost 210 ms at 10 Mb/s.
//
// The receiver acknowledges what arrived. The fastest answer ever seen is the
// path without a queue; whatever an answer takes longer is time spent in queues,
// our own or somebody else's. The window moves to where this time would be
// kQueueTarget at the rate just seen: the link never runs dry, and traffic that
// cannot wait finds a short queue. When others fill the path, bulk shrinks to
// kWindowBytesMin: it yields.
//
// A path that changes for good (a phone roams) also breaks the connection, so the
// fastest answer is kept as long as the window lives. Pure; belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/status.h"
#include "base/time.h"

namespace shoal::wire {

class BulkWindow {
 public:
  // A control message may wait this long behind bulk: a quarter of the 100 ms we
  // promise, and enough to cover the pauses of Wi-Fi between bursts.
  static constexpr Duration kQueueTarget = std::chrono::milliseconds(25);
  // Four slices: progress on any link, 13 ms of a 10 Mb/s one.
  static constexpr std::size_t kWindowBytesMin = std::size_t{16} << 10;
  // 1 Gb/s with 64 ms in between.
  static constexpr std::size_t kWindowBytesMax = std::size_t{8} << 20;
  // A slice is a quarter of the window, within these limits: the pieces in which a
  // slow link notices that it is slow, and a fast one is not bothered by headers.
  static constexpr std::size_t kSliceBytesMin = std::size_t{4} << 10;
  static constexpr std::size_t kSliceBytesMax = std::size_t{64} << 10;

  // How large the next slice may be, its header included; 0: wait for an acknowledgement.
  std::size_t SendableBytes() const;

  // `bytes` of slices have been given to the connection.
  void OnSent(Instant now, std::size_t bytes);

  // The peer has received `received_bytes` since the connection began.
  // kCorruption: fewer than it said before, or more than were sent.
  Status OnAck(Instant now, std::uint64_t received_bytes);

  std::size_t window_bytes() const { return window_bytes_; }
  std::size_t in_flight_bytes() const {
    return static_cast<std::size_t>(sent_bytes_ - acked_bytes_);
  }

 private:
  struct Sent {
    std::uint64_t end = 0;  // sent_bytes_ after this slice.
    Instant at;
  };

  std::size_t SliceBytes() const;
  void Measure(Instant now, const Sent& slice);
  void Adjust();

  std::size_t window_bytes_ = kWindowBytesMin;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t acked_bytes_ = 0;
  Duration round_trip_min_ = Duration::max();

  // After a change of the window, what was sent before it must arrive first; then a
  // window's worth of answers shows its effect, and the next change is made.
  std::uint64_t changed_at_ = 0;  // sent_bytes_ at the last change.
  std::uint64_t judge_at_ = 0;    // Once this much has arrived; 0: not known yet.
  Duration fastest_ = Duration::max();
  std::size_t in_flight_max_ = 0;

  std::deque<Sent> unacked_;  // At most kWindowBytesMax / kSliceBytesMin.
};

}  // namespace shoal::wire
