// One pass of one convolution by one row of the table, ready to be timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/parallel.h"
#include "bench/peers/conv_peer.h"
#include "kernels/conv.h"
#include "kernels/float_scratch.h"

namespace shoal::bench {

std::string_view KindName(ConvPassKind kind);

// Blobs of one layer, shared by everybody who runs it.
class ConvBlobs {
 public:
  explicit ConvBlobs(const kernels::ConvShape& shape);

  kernels::ConvForwardArgs Forward();
  kernels::ConvBackwardDataArgs BackwardData();
  kernels::ConvBackwardWeightsArgs BackwardWeights();

 private:
  kernels::ConvShape shape_;
  kernels::FloatScratch x_, y_, w_;
};

// Null if the row has no such pass for this shape, or none of interest. Uses `blobs` and
// `parallel` when it is called.
std::function<void()> MakeConvRun(const kernels::ConvImplementation& row,
                                  const kernels::ConvShape& shape, ConvPassKind kind,
                                  ConvBlobs& blobs, Parallel& parallel, kernels::Target target);

}  // namespace shoal::bench
