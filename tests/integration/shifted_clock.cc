// Preloaded into a program, puts its date off by SHOAL_TEST_CLOCK_SHIFT seconds. Clocks that only
// count stay as they are.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdlib>
#include <ctime>

namespace {

using ClockGettime = int (*)(clockid_t, timespec*);

timespec Now(clockid_t clock) {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const char* const shift = std::getenv("SHOAL_TEST_CLOCK_SHIFT");
  timespec now{};
  real(clock, &now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    now.tv_sec += shift != nullptr ? std::strtoll(shift, nullptr, 10) : 0;
  }
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  *out = Now(clock);
  return 0;
}

int gettimeofday(timeval* out, void* /*zone*/) noexcept {
  const timespec now = Now(CLOCK_REALTIME);
  *out = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t now = Now(CLOCK_REALTIME).tv_sec;
  if (out != nullptr) *out = now;
  return now;
}
}
