#include "kernels/conv_opencl.h"

namespace shoal::kernels {

Result<ConvImplementation> LoadOpenClConv() {
  return Status(Code::kUnavailable, "this build has no OpenCL");
}

}  // namespace shoal::kernels
