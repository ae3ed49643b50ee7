// Seams: all that a state machine has of the world. os/ or sim/ supply them; they outlive it.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "base/network.h"
#include "base/random.h"

namespace shoal {

struct Seams {
  Clock& clock;
  Network& network;
  Executor& executor;
  Random& random;
};

}  // namespace shoal
