#include "os/wall_clock.h"

#include <chrono>

namespace shoal::os {

UnixTime UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace shoal::os
