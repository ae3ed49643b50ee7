// "opencl": convolution on an OpenCL device, patches in memory and a multiplication by CLBlast, as
// the paper's Caffe does on a phone's GPU. For builds made on the device; PoCL runs it on a CPU.
//
// Buffers are the caller's memory (CL_MEM_USE_HOST_PTR, mapped back when the pass is done), so that
// nothing is copied where device and CPU share memory. Builds without OpenCL have no_opencl.cc.
#pragma once

#include "base/status.h"
#include "kernels/conv.h"

namespace shoal::kernels {

inline constexpr std::string_view kOpenClConvName = "opencl";

// Starts OpenCL, which may take seconds. kUnavailable if there is no device.
Result<ConvImplementation> LoadOpenClConv();

}  // namespace shoal::kernels
