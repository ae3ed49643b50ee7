// A phone's program starts no others: Android kills the child processes of apps.
#include "shoal/local_workers.h"

namespace shoal {

Result<std::unique_ptr<LocalWorkers>> StartLocalWorkers(const LocalWorkersOptions& /*options*/) {
  return Status(Code::kUnavailable,
                "--workers is for PCs: Android kills the child processes of apps. Use "
                "--cluster, and `shoal join` on every phone");
}

}  // namespace shoal
