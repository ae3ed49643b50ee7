#include "bench/interleave.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace shoal::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double BestOfATurn(const Contender& contender, const Effort& effort) {
  std::this_thread::sleep_for(effort.rest);
  if (effort.warm_up) contender.run();  // Wakes threads and fills caches.
  double best = std::numeric_limits<double>::infinity();
  const SteadyClock::time_point begin = SteadyClock::now();
  do {
    const SteadyClock::time_point before = SteadyClock::now();
    contender.run();
    best = std::min(best, std::chrono::duration<double>(SteadyClock::now() - before).count());
  } while (SteadyClock::now() - begin < effort.turn);
  return best;
}

}  // namespace

std::vector<double> RunInterleaved(std::span<const Contender> contenders, const Effort& effort) {
  std::vector<double> best(contenders.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < effort.turns; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      best[i] = std::min(best[i], BestOfATurn(contenders[i], effort));
    }
  }
  return best;
}

}  // namespace shoal::bench
