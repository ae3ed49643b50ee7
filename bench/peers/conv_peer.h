// oneDNN's convolutions, which ours are compared with: loaded when a benchmark asks for them.
// Builds without it have none (no_conv_peer.cc).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/conv.h"

namespace shoal::bench {

enum class ConvPassKind { kForward, kBackwardData, kBackwardWeights };

// Ways to run the pass, on memory of their own: with pixels as we have them (NHWC), and in the
// layout that the library likes best, without the cost of getting there. Weights are in its own
// layout in both. Empty if there is no library, or none for this shape.
std::vector<std::function<void()>> MakeConvPeers(const kernels::ConvShape& shape, ConvPassKind kind,
                                                 std::size_t threads);

}  // namespace shoal::bench
