// What the wall clock shows. Only for what people and other programs read, and for what
// the head judges by date: a phone's may be wrong by years. Clock (base/clock.h) is for
// everything that waits.
#pragma once

#include <cstdint>

namespace shoal::os {

// Seconds since 1970-01-01 00:00 UTC.
using UnixTime = std::int64_t;

UnixTime UnixNow();

}  // namespace shoal::os
