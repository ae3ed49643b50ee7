// Units: what a batch is cut into where sums are exact (nn/exact_sums.h), the same on one device
// and on any number of them. Pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "data/sample_order.h"

namespace shoal::train {

// The unit of a batch of which nobody said more: what divides it, and is a sixteenth of it at most,
// so that a dozen devices that are not equally fast can share it well.
std::int64_t DefaultUnit(std::int64_t batch);

// kInvalidArgument: a unit that does not divide the batch, or of which there would be too many.
Status CheckUnit(std::int64_t unit, std::int64_t batch);

// For random numbers of the unit that begins with this sample: the same on every device.
std::uint64_t UnitNumber(data::Cursor first);

}  // namespace shoal::train
