#include "bench/peers/conv_peer.h"

namespace shoal::bench {

std::vector<std::function<void()>> MakeConvPeers(const kernels::ConvShape& /*shape*/,
                                                 ConvPassKind /*kind*/, std::size_t /*threads*/) {
  return {};
}

}  // namespace shoal::bench
