#include "kernels/conv_onednn.h"

namespace shoal::kernels {

std::span<const ConvImplementation> OneDnnConvRows() { return {}; }

}  // namespace shoal::kernels
