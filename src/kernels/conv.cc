#include "kernels/conv.h"

#include "kernels/conv_depthwise.h"
#include "kernels/conv_implicit_gemm.h"
#include "kernels/conv_winograd.h"

namespace shoal::kernels {

std::span<const ConvImplementation> ConvImplementations() {
  static const ConvImplementation kTable[] = {
      {"implicit-gemm", true, &MakeImplicitGemmForward, &MakeImplicitGemmBackwardData,
       &MakeImplicitGemmBackwardWeights},
      {"depthwise", true, &MakeDepthwiseForward, &MakeDepthwiseBackwardData,
       &MakeDepthwiseBackwardWeights},
      kWinogradF2,
      kWinogradF4,
  };
  return kTable;
}

}  // namespace shoal::kernels
