// StepTimes: how long a node takes for a batch, against what its profile promises for it and
// against the best it could lately. The one sensor of throttling that every phone has.
//
// Times are compared as shares of what is promised, so that batches of any size, and of any layers,
// tell about the same thing.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include "base/time.h"

namespace shoal::agent {

class StepTimes {
 public:
  // A batch of `rows` rows took `time`, and should have taken `promised` seconds.
  void Add(std::size_t rows, Duration time, double promised);

  // What the last two seconds of work, or the last eight batches if these took longer, took
  // against what was promised for them: 2 is twice as long. One batch that took longer than any
  // other does not count: it is a hiccup. Nothing: too few batches.
  std::optional<double> Slowness() const;

  // The last times against the best ones of batches of the same size: 1 is as fast as ever, 2 takes
  // twice as long. Nothing: too few batches.
  std::optional<double> Throttle() const;

 private:
  struct Size {
    std::size_t count = 0;
    double recent = 0;  // Of what was promised.
    double best = 0;    // Of `recent`. Rises slowly: lucky moments are forgotten.
  };
  struct Batch {
    double seconds = 0;
    double promised = 0;
  };
  std::map<std::size_t, Size> sizes_;  // By the next power of two.
  std::size_t last_ = 0;
  std::deque<Batch> lately_;
  double lately_seconds_ = 0;
};

}  // namespace shoal::agent
