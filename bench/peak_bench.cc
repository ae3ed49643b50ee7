#include "bench/peak_bench.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "kernels/peak.h"
#include "tensor/aligned_buffer.h"

namespace shoal::bench {

namespace {

constexpr std::size_t kRounds = 200'000;  // Some hundred microseconds.

// `loop` gives the operations that it did.
template <class Loop>
double GigaOperations(Parallel& parallel, const Effort& effort, const Loop& loop) {
  const std::size_t workers = parallel.workers();
  std::vector<double> operations(workers);
  const std::array<Contender, 1> spin = {Contender{
      "peak", [&] {
        parallel.Run(workers, [&](std::size_t task, std::size_t) { operations[task] = loop(); });
      }}};
  const double seconds = RunInterleaved(spin, effort)[0];
  return operations[0] * static_cast<double>(workers) / seconds * 1e-9;
}

}  // namespace

double PeakGflops(Parallel& parallel, kernels::Target target, const Effort& effort) {
  return GigaOperations(parallel, effort,
                        [target] { return kernels::RunFmaLoop(kRounds, target).operations; });
}

std::optional<double> PeakInt8Gops(Parallel& parallel, const Effort& effort) {
  const double peak =
      GigaOperations(parallel, effort, [] { return kernels::RunInt8Loop(kRounds).operations; });
  if (peak == 0) return std::nullopt;
  return peak;
}

void ReadOnce(std::span<const float> floats, Parallel& parallel) {
  const std::size_t parts = parallel.workers();
  std::vector<double> sums(parts);
  parallel.Run(parts, [&](std::size_t part, std::size_t) {
    const std::size_t begin = floats.size() * part / parts;
    const std::size_t end = floats.size() * (part + 1) / parts;
    sums[part] = kernels::RunReadLoop(floats.subspan(begin, end - begin));
  });
}

double ReadGigabytes(Parallel& parallel, const Effort& effort) {
  // Larger than the last-level cache of any machine we have met.
  constexpr std::size_t kBytes = std::size_t{1} << 29U;
  Result<AlignedBuffer> buffer = AlignedBuffer::Make(kBytes);
  SHOAL_CHECK(buffer.ok());
  std::memset(buffer->data(), 0, kBytes);  // Makes the pages.
  const std::span<const float> floats(reinterpret_cast<const float*>(buffer->data()),
                                      kBytes / sizeof(float));
  const std::array<Contender, 1> read = {Contender{"read", [&] { ReadOnce(floats, parallel); }}};
  return static_cast<double>(kBytes) / RunInterleaved(read, effort)[0] * 1e-9;
}

}  // namespace shoal::bench
