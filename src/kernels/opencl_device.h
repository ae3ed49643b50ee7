// An OpenCL device and what owns its objects. Internal to conv_opencl.cc.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/check.h"
#include "base/status.h"

namespace shoal::kernels {

template <auto Release>
struct ClRelease {
  template <class Object>
  void operator()(Object* object) const {
    Release(object);
  }
};
template <class Handle, auto Release>
using ClOwned = std::unique_ptr<std::remove_pointer_t<Handle>, ClRelease<Release>>;

using ClContext = ClOwned<cl_context, &clReleaseContext>;
using ClQueue = ClOwned<cl_command_queue, &clReleaseCommandQueue>;
using ClProgram = ClOwned<cl_program, &clReleaseProgram>;
using ClKernel = ClOwned<cl_kernel, &clReleaseKernel>;
using ClMemory = ClOwned<cl_mem, &clReleaseMemObject>;

// A device that fails while it computes leaves nothing to continue with.
inline void CheckCl(cl_int status) { SHOAL_CHECK_EQ(status, CL_SUCCESS); }

class OpenClDevice {
 public:
  // The first GPU, else the first device of any kind, with our kernels compiled for it.
  static Result<std::unique_ptr<OpenClDevice>> Start();

  ClKernel Kernel(const char* name) const;
  // A buffer that is the caller's memory.
  ClMemory Share(const float* data, std::size_t floats, cl_mem_flags access) const;
  // When all that was enqueued is done, makes what the device wrote visible in that memory.
  void WaitAndShow(const ClMemory& memory, std::size_t floats);
  // Runs `kernel` over `size` items.
  void Enqueue(const ClKernel& kernel, std::size_t size);
  cl_command_queue queue() const { return queue_.get(); }

 private:
  OpenClDevice() = default;
  Status Compile(cl_device_id device);

  ClContext context_;
  ClQueue queue_;
  ClProgram program_;
};

template <class... Args>
void SetArgs(const ClKernel& kernel, const Args&... args) {
  cl_uint index = 0;
  (CheckCl(clSetKernelArg(kernel.get(), index++, sizeof(Args), &args)), ...);
}

}  // namespace shoal::kernels
