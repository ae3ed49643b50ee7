// RunInterleaved: times several ways of doing the same thing, taking turns, so that a
// busy moment of the machine hits all of them alike. The best run counts: these machines
// lose a core for 20 ms now and then, and only the best says what the code can do.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace shoal::bench {

struct Contender {
  std::string name;
  std::function<void()> run;  // One repeat.
};

struct Effort {
  int turns = 5;  // Per contender; never fewer.
  // A turn repeats the run for this long (at least once after a run that warms up).
  Duration turn = std::chrono::milliseconds(40);
  // Before a turn nothing runs for this long: OpenBLAS's and OpenMP's threads spin for some
  // 10 ms after their work, and would do so on the next contender's cores.
  Duration rest = std::chrono::milliseconds(30);
  // Whether a turn begins with a run that does not count. Runs of seconds need none.
  bool warm_up = true;
};

// Seconds of the fastest run of each contender.
std::vector<double> RunInterleaved(std::span<const Contender> contenders, const Effort& effort);

}  // namespace shoal::bench
