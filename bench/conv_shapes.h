// The convolutions of six networks, in the batches that they are measured with.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/conv.h"

namespace shoal::bench {

struct ConvLayer {
  std::string_view net;
  std::size_t count;  // How often the network has it.
  bool first;         // Reads the data, whose gradient nobody needs.
  bool quick;         // One of the few that stand for all.
  kernels::ConvShape shape;
};

std::span<const ConvLayer> ConvLayers();

}  // namespace shoal::bench
