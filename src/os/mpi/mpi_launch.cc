#include <algorithm>
#include <cstdlib>

#include "os/mpi/mpi_network.h"

namespace shoal::os {

bool MpiHub::LaunchedByMpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

std::size_t MpiHub::RanksHere() {
  const char* size = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return size == nullptr ? 1 : std::max<std::size_t>(std::strtoul(size, nullptr, 10), 1);
}

std::string MpiHub::AddressOf(NodeId node) { return "mpi:" + std::to_string(ToNumber(node)); }

}  // namespace shoal::os
