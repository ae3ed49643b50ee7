#include "sim/models.h"

#include <algorithm>
#include <cstdint>

namespace shoal::sim {

Duration ModelledTime(const PhoneModel& phone, const Work& work, double slowdown) {
  constexpr double kYearNanoseconds = 365.0 * 24 * 3600 * 1e9;
  const double seconds = std::max(work.operations / phone.operations_per_second,
                                  work.bytes_moved / phone.bytes_per_second);
  const double nanoseconds = seconds * slowdown * 1e9;
  // Written so that a NaN ends in the year.
  if (!(nanoseconds < kYearNanoseconds))
    return Duration(static_cast<std::int64_t>(kYearNanoseconds));
  return Duration(static_cast<std::int64_t>(std::max(nanoseconds, 0.0)));
}

double NanosecondsPerByte(double bits_per_second) {
  return bits_per_second > 0 ? 8e9 / std::max(bits_per_second, 1e3) : 0;
}

}  // namespace shoal::sim
