#include "shoal/speeds.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/peak.h"
#include "tensor/tensor.h"

namespace shoal {
namespace {

// A machine that needs longer than this for the small problem (an emulator, a phone on
// one little core) is judged by it; else a larger one gives a truer figure.
constexpr Duration kSlow = std::chrono::milliseconds(50);
// Long enough to outlast a moment in which the system took the core away.
constexpr Duration kMeasureFor = std::chrono::milliseconds(300);

// Seconds of the fastest run of `run`.
template <class Run>
double BestSeconds(const Clock& clock, Duration limit, Run run) {
  double best = 0;
  const Instant begin = clock.Now();
  do {
    const Instant before = clock.Now();
    run();
    const double seconds = ToSeconds(clock.Now() - before);
    best = best == 0 ? seconds : std::min(best, seconds);
  } while (clock.Now() - begin < limit);
  return std::max(best, 1e-9);  // A clock that stands still must not give infinity.
}

double GemmGflops(const Clock& clock, Parallel& parallel, std::size_t size, Duration limit) {
  const std::vector<float> a(size * size, 1.0F);
  const std::vector<float> b(size * size, 0.5F);
  std::vector<float> c(size * size);
  kernels::GemmWorkspace workspace;
  kernels::GemmArgs args;
  args.m = args.n = args.k = size;
  args.a = {a.data(), size};
  args.b = {b.data(), size};
  args.c = c.data();
  args.c_stride = size;
  const double seconds =
      BestSeconds(clock, limit, [&] { kernels::Gemm(args, workspace, parallel); });
  const double n = static_cast<double>(size);
  return 2 * n * n * n / seconds * 1e-9;
}

// Each worker sums a part of its own: the fastest way of reading everything once.
Result<double> ReadGbPerS(const Clock& clock, Parallel& parallel, std::size_t bytes,
                          Duration limit) {
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  SHOAL_ASSIGN_OR_RETURN(const Tensor buffer, Tensor::Zeros(DType::kF32, {floats}));
  const std::span<const float> all(buffer.data<float>(), static_cast<std::size_t>(floats));
  const std::size_t parts = parallel.workers();
  std::vector<double> sums(parts);
  const double seconds = BestSeconds(clock, limit, [&] {
    parallel.Run(parts, [&](std::size_t part, std::size_t) {
      const std::size_t begin = all.size() * part / parts;
      const std::size_t end = all.size() * (part + 1) / parts;
      sums[part] = kernels::RunReadLoop(all.subspan(begin, end - begin));
    });
  });
  return static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace

Result<Speeds> MeasureSpeeds(const Clock& clock, Parallel& parallel, std::size_t memory_bytes_max) {
  Speeds speeds;
  speeds.threads = parallel.workers();
  Instant before = clock.Now();
  speeds.gemm_gflops = GemmGflops(clock, parallel, 128, Duration(0));
  if (clock.Now() - before < kSlow) {
    speeds.gemm_gflops = GemmGflops(clock, parallel, 768, kMeasureFor);
  }
  before = clock.Now();
  SHOAL_ASSIGN_OR_RETURN(speeds.memory_gb_per_s,
                         ReadGbPerS(clock, parallel, kMemoryBytesMin, Duration(0)));
  const std::size_t bytes = std::min(memory_bytes_max, kMemoryBytesGood);
  if (clock.Now() - before < kSlow && bytes > kMemoryBytesMin) {
    SHOAL_ASSIGN_OR_RETURN(speeds.memory_gb_per_s, ReadGbPerS(clock, parallel, bytes, kMeasureFor));
  }
  return speeds;
}

}  // namespace shoal
