#include "bench/peers/blas.h"

namespace shoal::bench {

std::vector<BlasPeer> LoadBlasPeers() { return {}; }

}  // namespace shoal::bench
