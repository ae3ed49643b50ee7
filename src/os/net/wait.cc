#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "os/file.h"
#include "os/net/wait_internal.h"

namespace shoal::os {

Status WaitFor(const Loop& clock, int socket, Wait what, Instant deadline) {
  constexpr std::int64_t kMillisecondsMax = 60'000;  // Below what poll can count.
  for (;;) {
    const Duration left = deadline - clock.Now();
    if (left <= Duration(0)) return {Code::kDeadlineExceeded, "no answer in time"};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    pollfd entry{.fd = socket,
                 .events = static_cast<short>(what == Wait::kReadable ? POLLIN : POLLOUT),
                 .revents = 0};
    // One more: a rest of less than a millisecond is waited for too.
    const int ready = ::poll(
        &entry, 1, static_cast<int>(std::min<std::int64_t>(milliseconds + 1, kMillisecondsMax)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "wait for a socket");
  }
}

}  // namespace shoal::os
