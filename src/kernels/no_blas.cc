#include "kernels/conv_blas.h"

namespace shoal::kernels {

Result<ConvImplementation> LoadBlasConv() {
  return Status(Code::kUnavailable, "this build is static and cannot load OpenBLAS");
}

}  // namespace shoal::kernels
