// Links: the layers of a network with the blobs between them as values, each written once. A layer
// that works in place reads one value and writes another of the same name; a fused link stands for
// several layers in a row. What Graph makes its ops from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "nn/net_def.h"

namespace shoal::nn {

struct Link {
  // The layers that it stands for, in order; they live in the NetDef.
  std::vector<const LayerDef*> layers;
  std::vector<std::size_t> inputs;  // Values.
  std::vector<std::size_t> outputs;

  // How the layers after the first are fused.
  bool relu = false;      // A ReLU on the way out.
  bool residual = false;  // BatchNorm: the second input is added before that.
  // The gradient of the ReLU is applied by the pooling that follows, which gets by with its own
  // output: the values before it need not be kept.
  bool relu_masked_by_pooling = false;
  bool masks_relu = false;  // Pooling: the other side of that.
};

struct Links {
  std::vector<std::string> values;  // Names.
  std::vector<Link> links;
};

// One link per layer. kInvalidArgument: a bottom that no layer before it makes, a top that two
// layers make, a wrong number of bottoms or tops, no layers.
Result<Links> LinkLayers(const NetDef& net);

// Fuses convolution or inner product + ReLU; BatchNorm (+ Scale) (+ a sum of two) (+ ReLU); a
// sum + ReLU; ReLU + MAX pooling. Values that nobody makes any more keep their numbers.
void Fuse(Links& links);

// The consumers of every value, as indices of links.
std::vector<std::vector<std::size_t>> Consumers(const Links& links);

}  // namespace shoal::nn
