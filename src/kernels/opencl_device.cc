#include "kernels/opencl_device.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace shoal::kernels {
namespace {

constexpr cl_uint kPlatformsMax = 16;

// A patch has a column for each tap and channel of a group. Items are positions and taps, or
// pixels: the loop over channels is contiguous.
constexpr const char* kSource = R"(
typedef struct {
  int height, width, channels, out_height, out_width, kernel_h, kernel_w;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} Shape;

kernel void im2col(Shape s, global const float* x, ulong x_begin, ulong x_stride,
                   global float* columns) {
  const int taps = s.kernel_h * s.kernel_w;
  const int item = get_global_id(0);
  const int position = item / taps;
  const int tap = item % taps;
  if (position >= s.out_height * s.out_width) return;
  const int i = position / s.out_width * s.stride_h + tap / s.kernel_w * s.dilation_h - s.pad_h;
  const int j = position % s.out_width * s.stride_w + tap % s.kernel_w * s.dilation_w - s.pad_w;
  const bool inside = i >= 0 && i < s.height && j >= 0 && j < s.width;
  global float* out = columns + (ulong)item * s.channels;
  if (inside) {
    global const float* in = x + x_begin + (ulong)(i * s.width + j) * x_stride;
    for (int c = 0; c < s.channels; ++c) out[c] = in[c];
  } else {
    for (int c = 0; c < s.channels; ++c) out[c] = 0;
  }
}

kernel void col2im(Shape s, global const float* columns, global float* x, ulong x_begin,
                   ulong x_stride, int accumulate) {
  const int pixel = get_global_id(0);
  if (pixel >= s.height * s.width) return;
  global float* out = x + x_begin + (ulong)pixel * x_stride;
  if (!accumulate) {
    for (int c = 0; c < s.channels; ++c) out[c] = 0;
  }
  for (int tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
    const int i = pixel / s.width + s.pad_h - tap / s.kernel_w * s.dilation_h;
    const int j = pixel % s.width + s.pad_w - tap % s.kernel_w * s.dilation_w;
    if (i < 0 || i % s.stride_h != 0 || i / s.stride_h >= s.out_height) continue;
    if (j < 0 || j % s.stride_w != 0 || j / s.stride_w >= s.out_width) continue;
    const int position = i / s.stride_h * s.out_width + j / s.stride_w;
    global const float* in =
        columns + (ulong)(position * s.kernel_h * s.kernel_w + tap) * s.channels;
    for (int c = 0; c < s.channels; ++c) out[c] += in[c];
  }
}

kernel void finish(global float* y, ulong y_stride, ulong pixels, int channels,
                   global const float* bias, int has_bias, int relu) {
  const ulong pixel = get_global_id(0);
  if (pixel >= pixels) return;
  global float* out = y + pixel * y_stride;
  for (int c = 0; c < channels; ++c) {
    float value = out[c];
    if (has_bias) value += bias[c];
    out[c] = relu && value < 0 ? 0 : value;
  }
}
)";

std::optional<cl_device_id> FindDevice(cl_device_type type) {
  std::array<cl_platform_id, kPlatformsMax> platforms{};
  cl_uint count = 0;
  if (clGetPlatformIDs(kPlatformsMax, platforms.data(), &count) != CL_SUCCESS) return std::nullopt;
  for (cl_uint i = 0; i < std::min(count, kPlatformsMax); ++i) {
    cl_device_id device = nullptr;
    cl_uint devices = 0;
    const cl_int status = clGetDeviceIDs(platforms[i], type, 1, &device, &devices);
    if (status == CL_SUCCESS && devices > 0) return device;
  }
  return std::nullopt;
}

Status Unavailable(const std::string& what, cl_int status) {
  return {Code::kUnavailable, "OpenCL: " + what + " (error " + std::to_string(status) + ")"};
}

}  // namespace

Result<std::unique_ptr<OpenClDevice>> OpenClDevice::Start() {
  std::optional<cl_device_id> id = FindDevice(CL_DEVICE_TYPE_GPU);
  if (!id) id = FindDevice(CL_DEVICE_TYPE_ALL);
  if (!id) return Status(Code::kUnavailable, "OpenCL: there is no device");
  auto device = std::unique_ptr<OpenClDevice>(new OpenClDevice());
  cl_int status = CL_SUCCESS;
  device->context_.reset(clCreateContext(nullptr, 1, &*id, nullptr, nullptr, &status));
  if (status != CL_SUCCESS) return Unavailable("no context", status);
  device->queue_.reset(clCreateCommandQueue(device->context_.get(), *id, 0, &status));
  if (status != CL_SUCCESS) return Unavailable("no queue", status);
  SHOAL_RETURN_IF_ERROR(device->Compile(*id));
  return device;
}

Status OpenClDevice::Compile(cl_device_id device) {
  cl_int status = CL_SUCCESS;
  const char* source = kSource;
  program_.reset(clCreateProgramWithSource(context_.get(), 1, &source, nullptr, &status));
  if (status != CL_SUCCESS) return Unavailable("no program", status);
  status = clBuildProgram(program_.get(), 1, &device, "", nullptr, nullptr);
  if (status == CL_SUCCESS) return {};
  std::string log(4096, '\0');
  clGetProgramBuildInfo(program_.get(), device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                        nullptr);
  return Unavailable("the kernels do not compile: " + std::string(log.c_str()), status);
}

ClKernel OpenClDevice::Kernel(const char* name) const {
  cl_int status = CL_SUCCESS;
  ClKernel kernel(clCreateKernel(program_.get(), name, &status));
  CheckCl(status);
  return kernel;
}

ClMemory OpenClDevice::Share(const float* data, std::size_t floats, cl_mem_flags access) const {
  cl_int status = CL_SUCCESS;
  ClMemory memory(clCreateBuffer(context_.get(), access | CL_MEM_USE_HOST_PTR,
                                 floats * sizeof(float), const_cast<float*>(data), &status));
  CheckCl(status);
  return memory;
}

void OpenClDevice::WaitAndShow(const ClMemory& memory, std::size_t floats) {
  cl_int status = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(queue_.get(), memory.get(), CL_TRUE, CL_MAP_READ, 0,
                                    floats * sizeof(float), 0, nullptr, nullptr, &status);
  CheckCl(status);
  CheckCl(clEnqueueUnmapMemObject(queue_.get(), memory.get(), mapped, 0, nullptr, nullptr));
  CheckCl(clFinish(queue_.get()));
}

void OpenClDevice::Enqueue(const ClKernel& kernel, std::size_t size) {
  constexpr std::size_t kLocal = 64;
  const std::size_t global = (size + kLocal - 1) / kLocal * kLocal;
  CheckCl(clEnqueueNDRangeKernel(queue_.get(), kernel.get(), 1, nullptr, &global, &kLocal, 0,
                                 nullptr, nullptr));
}

}  // namespace shoal::kernels
