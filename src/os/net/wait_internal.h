// Waiting for one socket, with a deadline: for what in os/ is done one step after the other.
#pragma once

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"

namespace shoal::os {

enum class Wait { kReadable, kWritable };

// Returns when the socket is ready or has failed. kDeadlineExceeded: it was not by `deadline`.
Status WaitFor(const Loop& clock, int socket, Wait what, Instant deadline);

}  // namespace shoal::os
