// What the invented phones and cables are like when nothing is wrong with them.
#pragma once

#include "base/executor.h"
#include "base/time.h"

namespace shoal::sim {

// Prices a job by the slower of computing and moving bytes. The default is a flagship of
// 2019 that has been running for a while: half of what four Cortex-A76 cores (160
// GFLOP/s) and their LPDDR4X (34 GB/s) do on paper.
struct PhoneModel {
  double operations_per_second = 80e9;
  double bytes_per_second = 17e9;
};

// A phone on a good access point or a USB-Ethernet hub.
struct LinkModel {
  Duration delay = std::chrono::milliseconds(1);  // One way, without queueing.
  double bits_per_second = 0;                     // Each way and pair; 0: not limited.
  // A peer from which nothing is heard for this long is down, and a dial that has no
  // answer by then has failed.
  Duration silence_limit = std::chrono::seconds(5);
};

// How long `work` takes on `phone`, `slowdown` times slower than usual. At most a year:
// work of that size, or work that is not a number, is a mistake that must show as a
// node that never finishes rather than as an overflow.
Duration ModelledTime(const PhoneModel& phone, const Work& work, double slowdown);

// How long the wire is busy with one byte, in nanoseconds; 0 when the rate is not limited
// (zero or below). A limit under 1 kb/s counts as 1 kb/s, which keeps full queues within
// what a Duration can say.
double NanosecondsPerByte(double bits_per_second);

}  // namespace shoal::sim
