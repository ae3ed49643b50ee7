#include "kernels/conv.h"

#include "kernels/conv_depthwise.h"
#include "kernels/conv_implicit_gemm.h"

namespace shoal::kernels {

std::span<const ConvImplementation> ConvImplementations() {
  static constexpr ConvImplementation kTable[] = {
      {"implicit-gemm", true, &MakeImplicitGemmForward, &MakeImplicitGemmBackwardData,
       &MakeImplicitGemmBackwardWeights},
      {"depthwise", true, &MakeDepthwiseForward, &MakeDepthwiseBackwardData,
       &MakeDepthwiseBackwardWeights},
  };
  return kTable;
}

}  // namespace shoal::kernels
