// How fast this machine computes and reads memory, measured in about a second.
#pragma once

#include <cstddef>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status.h"

namespace shoal {

struct Speeds {
  std::size_t threads = 0;
  double gemm_gflops = 0;      // F32 matrix multiplication.
  double memory_gb_per_s = 0;  // Reading memory that is in no cache.
};

// Takes the best of several runs: others share the machine, and only the best says what
// it can do. `memory_bytes_max` bounds the buffer that is read.
// kResourceExhausted: not even kMemoryBytesMin can be had.
Result<Speeds> MeasureSpeeds(const Clock& clock, Parallel& parallel, std::size_t memory_bytes_max);

// Small enough for the emptiest phone. A cache may hold it, so it is used only to find out
// whether there is time for more.
inline constexpr std::size_t kMemoryBytesMin = std::size_t{16} << 20;
// No phone has a cache near it; some servers do.
inline constexpr std::size_t kMemoryBytesGood = std::size_t{512} << 20;

}  // namespace shoal
