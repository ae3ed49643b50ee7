// UnsentLimit: how many bytes the kernel may hold of a connection that it has not sent. What it
// holds cannot be overtaken by anything urgent, so they are few: some milliseconds of the link. But
// they are all that a link has to send until this process has its turn again: 32 KiB last 26 ms at
// 10 Mb/s, and 0.26 ms at 1 Gb/s, less than a busy machine takes to wake us up. An all-reduce of
// 26.7 MB between four hosts with 1 Gb/s links, on a machine that is busy with other things, took
// 0.375 s with a fixed 32 KiB and takes 0.355 s with this (medians); the wire's limit is 0.335 s.
//
// The rate is our own measurement, over some tens of milliseconds: what the kernel took between two
// moments when it was full has left in between. The kernel's estimate (TCP_INFO) is of single
// bursts, and Wi-Fi sends in bursts.
//
// Belongs to one connection.
#pragma once

#include <cstddef>
#include <optional>

#include "base/time.h"

namespace shoal::os {

class UnsentLimit {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{32} << 10;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

  std::size_t bytes() const { return bytes_; }

  // The kernel took so many bytes.
  void OnWritten(std::size_t bytes) { written_ += bytes; }
  // It takes no more for now. True: bytes() has changed.
  bool OnFull(Instant now);
  // There is nothing to write.
  void OnIdle() { full_at_.reset(); }

 private:
  std::size_t bytes_ = kBytesMin;
  std::optional<Instant> full_at_;  // When the measurement began.
  std::size_t written_ = 0;         // Since then.
};

}  // namespace shoal::os
