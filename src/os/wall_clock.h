// What the wall clock shows. Only for what people and other programs read, and for what
// the head judges by date: a phone's may be wrong by years. Clock (base/clock.h) is for
// everything that waits.
#pragma once

#include <cstdint>
#include <string>

namespace shoal::os {

// Seconds since 1970-01-01 00:00 UTC.
using UnixTime = std::int64_t;

UnixTime UnixNow();

// Minutes after midnight where this machine is.
int LocalMinute();
// By the clock of this place: which day it is now, counted from 1970-01-01, and "14:05:09" of a
// moment.
std::int64_t LocalDayNow();
std::string LocalTimeOfDay(UnixTime time);

}  // namespace shoal::os
