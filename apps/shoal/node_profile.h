// How fast this machine runs a layer, measured in about half a second: what the head plans with.
#pragma once

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status.h"
#include "wire/control.h"

namespace shoal {

// With 4-bit weights, one row (a token) and 64 rows (a prompt). kResourceExhausted: no memory for
// the trial.
Result<wire::pb::Profile> MeasureProfile(const Clock& clock, Parallel& parallel);

}  // namespace shoal
