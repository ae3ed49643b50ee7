// Probe: what a node knows about its own machine.
#pragma once

#include "wire/control.h"

namespace shoal::agent {

class Probe {
 public:
  virtual ~Probe() = default;

  // Fills in what the machine's sensors say; those that it does not have stay absent, and those
  // that say what cannot be are NaN.
  virtual void Read(wire::pb::Telemetry& telemetry) = 0;
};

}  // namespace shoal::agent
