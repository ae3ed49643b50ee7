#include "bench/peak_bench.h"

#include <array>
#include <vector>

#include "kernels/peak.h"

namespace shoal::bench {

double PeakGflops(Parallel& parallel, kernels::Target target, const Effort& effort) {
  constexpr std::size_t kRounds = 200'000;  // Some hundred microseconds.
  const std::size_t workers = parallel.workers();
  std::vector<double> operations(workers);
  const std::array<Contender, 1> spin = {
      Contender{"peak", [&] {
                  parallel.Run(workers, [&](std::size_t task, std::size_t) {
                    operations[task] = kernels::RunFmaLoop(kRounds, target).operations;
                  });
                }}};
  const double seconds = RunInterleaved(spin, effort)[0];
  return operations[0] * static_cast<double>(workers) / seconds * 1e-9;
}

}  // namespace shoal::bench
