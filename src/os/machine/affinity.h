// Affinity: on which CPUs this process may run, and pinning a thread to one.
#pragma once

#include <vector>

#include "base/status.h"

namespace shoal::os {

// The CPUs that the calling thread may run on, sorted; never empty. On Android the
// process's cpuset bounds them, and changes when the app goes to the background.
Result<std::vector<int>> AllowedCpus();

// Makes the calling thread, and those that it starts later, run on `cpu` only. kUnavailable,
// kInvalidArgument: not allowed there, or the vendor's kernel refuses; the thread then runs as
// before.
Status PinThisThread(int cpu);

}  // namespace shoal::os
