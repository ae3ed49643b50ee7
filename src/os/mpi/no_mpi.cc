#include "os/mpi/mpi_network.h"

namespace shoal::os {

Result<std::unique_ptr<MpiHub>> MpiHub::Make(Loop& /*loop*/) {
  return Status(Code::kUnavailable,
                "this build has no MPI: install libopenmpi-dev and build again");
}

}  // namespace shoal::os
