// StepTimes: how long a node takes for a batch, against the best it could lately. The one sensor of
// throttling that every phone has.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "base/time.h"

namespace shoal::agent {

class StepTimes {
 public:
  // A batch of `rows` rows took `time`.
  void Add(std::size_t rows, Duration time);
  // Forgets: other layers take another time.
  void Clear() { *this = {}; }

  // The last times against the best ones of batches of the same size: 1 is as fast as ever, 2 takes
  // twice as long. Nothing: too few batches.
  std::optional<double> Throttle() const;

 private:
  struct Size {
    std::size_t count = 0;
    double best = 0;  // Seconds. Rises slowly, so that one lucky moment is forgotten in the end.
    double recent = 0;
  };
  std::map<std::size_t, Size> sizes_;  // By the next power of two.
  std::size_t last_ = 0;
};

}  // namespace shoal::agent
