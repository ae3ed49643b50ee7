#include "kernels/conv_opencl.h"

#include <clblast_c.h>

#include <limits>
#include <memory>

#include "base/check.h"
#include "kernels/conv_im2col.h"
#include "kernels/conv_pixels.h"
#include "kernels/opencl_device.h"

namespace shoal::kernels {
namespace {

// A multiplication for each group and image: more groups would be nothing but launches.
constexpr std::size_t kGroupsMax = 8;

// Set by LoadOpenClConv, before any pass is made.
std::unique_ptr<OpenClDevice>& Device() {
  static std::unique_ptr<OpenClDevice> device;
  return device;
}

// As the kernels declare it; channels are those of a group.
struct ClShape {
  explicit ClShape(const ConvShape& s)
      : height(Int(s.height)),
        width(Int(s.width)),
        channels(Int(s.channels / s.groups)),
        out_height(Int(s.out_height())),
        out_width(Int(s.out_width())),
        kernel_h(Int(s.kernel_h)),
        kernel_w(Int(s.kernel_w)),
        stride_h(Int(s.stride_h)),
        stride_w(Int(s.stride_w)),
        pad_h(Int(s.pad_h)),
        pad_w(Int(s.pad_w)),
        dilation_h(Int(s.dilation_h)),
        dilation_w(Int(s.dilation_w)) {}
  static cl_int Int(std::size_t value) { return static_cast<cl_int>(value); }

  cl_int height, width, channels, out_height, out_width, kernel_h, kernel_w;
  cl_int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// Rows of a buffer.
struct ClMatrix {
  cl_mem memory;
  std::size_t begin;
  std::size_t stride;
  bool transposed = false;
};

// c[m, n] = a · b + beta · c
void Multiply(std::size_t m, std::size_t n, std::size_t k, const ClMatrix& a, const ClMatrix& b,
              float beta, const ClMatrix& c) {
  const auto transpose = [](const ClMatrix& matrix) {
    return matrix.transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
  };
  cl_command_queue queue = Device()->queue();
  const CLBlastStatusCode status = CLBlastSgemm(
      CLBlastLayoutRowMajor, transpose(a), transpose(b), m, n, k, 1.0F, a.memory, a.begin, a.stride,
      b.memory, b.begin, b.stride, beta, c.memory, c.begin, c.stride, &queue, nullptr);
  SHOAL_CHECK_EQ(static_cast<int>(status), static_cast<int>(CLBlastSuccess));
}

// The floats from the first channel of the first pixel to the last of the last.
std::size_t Extent(std::size_t pixels, std::size_t stride, std::size_t channels) {
  return (pixels - 1) * stride + channels;
}

// What the passes share.
struct Plan {
  explicit Plan(const ConvShape& shape)
      : s(shape),
        cl(shape),
        k(shape.kernel_h * shape.kernel_w * (shape.channels / shape.groups)),
        n(shape.outputs / shape.groups),
        channels(shape.channels / shape.groups),
        positions(shape.out_height() * shape.out_width()),
        pixels(shape.height * shape.width),
        direct(PatchesArePixels(shape)) {}

  std::size_t column_floats() const { return direct ? 0 : positions * k; }
  ClMemory ShareX(const float* x, std::size_t stride, cl_mem_flags access) const {
    return Device()->Share(x, Extent(s.in_pixels(), stride, s.channels), access);
  }
  ClMemory ShareY(const float* y, std::size_t stride, cl_mem_flags access) const {
    return Device()->Share(y, Extent(s.out_pixels(), stride, s.outputs), access);
  }
  ClMemory ShareW(const float* w, cl_mem_flags access) const {
    return Device()->Share(w, s.weights(), access);
  }
  ClMemory ShareColumns(float* workspace) const {
    return direct ? nullptr : Device()->Share(workspace, column_floats(), CL_MEM_READ_WRITE);
  }
  ClMatrix X(const ClMemory& memory, std::size_t stride, std::size_t image,
             std::size_t group) const {
    return {memory.get(), image * pixels * stride + group * channels, stride};
  }
  ClMatrix Y(const ClMemory& memory, std::size_t stride, std::size_t image,
             std::size_t group) const {
    return {memory.get(), image * positions * stride + group * n, stride};
  }
  ClMatrix W(const ClMemory& memory, std::size_t group) const {
    return {memory.get(), group * n, s.outputs};
  }
  // The patches of x, in `columns` unless they are x.
  ClMatrix Patches(const ClKernel& im2col, const ClMatrix& x, const ClMemory& columns) const {
    if (direct) return x;
    cl_mem to = columns.get();
    SetArgs(im2col, cl, x.memory, static_cast<cl_ulong>(x.begin), static_cast<cl_ulong>(x.stride),
            to);
    Device()->Enqueue(im2col, positions * s.kernel_h * s.kernel_w);
    return {to, 0, k};
  }

  ConvShape s;
  ClShape cl;
  std::size_t k;
  std::size_t n;
  std::size_t channels;
  std::size_t positions;
  std::size_t pixels;
  bool direct;
};

class OpenClForward final : public ConvForward {
 public:
  explicit OpenClForward(const ConvShape& shape) : plan_(shape) {}
  std::size_t workspace_floats() const override { return plan_.column_floats(); }

  void Run(const ConvForwardArgs& args, float* workspace, Parallel& /*parallel*/) override {
    const ConvShape& s = plan_.s;
    const ClMemory x = plan_.ShareX(args.x, args.x_stride, CL_MEM_READ_ONLY);
    const ClMemory y = plan_.ShareY(args.y, args.y_stride, CL_MEM_READ_WRITE);
    const ClMemory w = plan_.ShareW(args.w, CL_MEM_READ_ONLY);
    const ClMemory columns = plan_.ShareColumns(workspace);
    for (std::size_t image = 0; image < s.batch; ++image) {
      for (std::size_t group = 0; group < s.groups; ++group) {
        const ClMatrix patches =
            plan_.Patches(im2col_, plan_.X(x, args.x_stride, image, group), columns);
        Multiply(plan_.positions, plan_.n, plan_.k, patches, plan_.W(w, group), 0,
                 plan_.Y(y, args.y_stride, image, group));
      }
    }
    Finish(args, y);
    Device()->WaitAndShow(y, Extent(s.out_pixels(), args.y_stride, s.outputs));
  }

 private:
  void Finish(const ConvForwardArgs& args, const ClMemory& y) {
    if (args.bias == nullptr && !args.relu) return;
    const cl_int has_bias = args.bias != nullptr ? 1 : 0;
    const ClMemory bias =
        has_bias != 0 ? Device()->Share(args.bias, plan_.s.outputs, CL_MEM_READ_ONLY) : nullptr;
    cl_mem y_memory = y.get();
    cl_mem bias_memory = has_bias != 0 ? bias.get() : y.get();
    SetArgs(finish_, y_memory, static_cast<cl_ulong>(args.y_stride),
            static_cast<cl_ulong>(plan_.s.out_pixels()), ClShape::Int(plan_.s.outputs), bias_memory,
            has_bias, cl_int{args.relu ? 1 : 0});
    Device()->Enqueue(finish_, plan_.s.out_pixels());
    CheckCl(clFinish(Device()->queue()));  // `bias` is released here.
  }

  Plan plan_;
  ClKernel im2col_ = Device()->Kernel("im2col");
  ClKernel finish_ = Device()->Kernel("finish");
};

class OpenClBackwardData final : public ConvBackwardData {
 public:
  explicit OpenClBackwardData(const ConvShape& shape) : plan_(shape) {}
  std::size_t workspace_floats() const override { return plan_.column_floats(); }

  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& /*parallel*/) override {
    const ConvShape& s = plan_.s;
    const ClMemory dy = plan_.ShareY(args.dy, args.dy_stride, CL_MEM_READ_ONLY);
    const ClMemory dx = plan_.ShareX(args.dx, args.dx_stride, CL_MEM_READ_WRITE);
    const ClMemory w = plan_.ShareW(args.w, CL_MEM_READ_ONLY);
    const ClMemory columns = plan_.ShareColumns(workspace);
    for (std::size_t image = 0; image < s.batch; ++image) {
      for (std::size_t group = 0; group < s.groups; ++group) {
        ClMatrix transposed_w = plan_.W(w, group);
        transposed_w.transposed = true;
        const ClMatrix from = plan_.Y(dy, args.dy_stride, image, group);
        const ClMatrix to = plan_.X(dx, args.dx_stride, image, group);
        if (plan_.direct) {
          Multiply(plan_.positions, plan_.k, plan_.n, from, transposed_w,
                   args.accumulate ? 1.0F : 0.0F, to);
          continue;
        }
        Multiply(plan_.positions, plan_.k, plan_.n, from, transposed_w, 0,
                 {columns.get(), 0, plan_.k});
        AddColumns(columns, to, args.accumulate);
      }
    }
    Device()->WaitAndShow(dx, Extent(s.in_pixels(), args.dx_stride, s.channels));
  }

 private:
  void AddColumns(const ClMemory& columns, const ClMatrix& dx, bool accumulate) {
    cl_mem from = columns.get();
    SetArgs(col2im_, plan_.cl, from, dx.memory, static_cast<cl_ulong>(dx.begin),
            static_cast<cl_ulong>(dx.stride), cl_int{accumulate ? 1 : 0});
    Device()->Enqueue(col2im_, plan_.pixels);
  }

  Plan plan_;
  ClKernel col2im_ = Device()->Kernel("col2im");
};

class OpenClBackwardWeights final : public ConvBackwardWeights {
 public:
  explicit OpenClBackwardWeights(const ConvShape& shape) : plan_(shape) {}
  std::size_t workspace_floats() const override {
    return plan_.column_floats() + ColumnSumFloats(plan_.s.outputs);
  }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    const ConvShape& s = plan_.s;
    const ClMemory x = plan_.ShareX(args.x, args.x_stride, CL_MEM_READ_ONLY);
    const ClMemory dy = plan_.ShareY(args.dy, args.dy_stride, CL_MEM_READ_ONLY);
    const ClMemory dw = plan_.ShareW(args.dw, CL_MEM_READ_WRITE);
    const ClMemory columns = plan_.ShareColumns(workspace);
    for (std::size_t image = 0; image < s.batch; ++image) {
      for (std::size_t group = 0; group < s.groups; ++group) {
        ClMatrix patches = plan_.Patches(im2col_, plan_.X(x, args.x_stride, image, group), columns);
        patches.transposed = true;
        Multiply(plan_.k, plan_.n, plan_.positions, patches,
                 plan_.Y(dy, args.dy_stride, image, group),
                 image > 0 || args.accumulate ? 1.0F : 0.0F, plan_.W(dw, group));
      }
    }
    Device()->WaitAndShow(dw, s.weights());
    if (args.dbias == nullptr) return;
    ColumnSums({args.dy, args.dy_stride}, s.out_pixels(), s.outputs, args.accumulate, args.dbias,
               workspace + plan_.column_floats(), parallel);
  }

 private:
  Plan plan_;
  ClKernel im2col_ = Device()->Kernel("im2col");
};

// Indices of the kernels are ints. A target that is asked for by name is one of our own kernels.
template <class Interface, class Pass>
std::unique_ptr<Interface> Make(const ConvShape& shape, const ConvOptions& options) {
  constexpr std::size_t kIntMax = std::numeric_limits<cl_int>::max();
  const std::size_t taps = shape.kernel_h * shape.kernel_w;
  if (options.target != BestTarget() || shape.groups > kGroupsMax) return nullptr;
  if (shape.out_height() * shape.out_width() > kIntMax / taps) return nullptr;
  if (shape.height * shape.width > kIntMax) return nullptr;
  return std::make_unique<Pass>(shape);
}

}  // namespace

Result<ConvImplementation> LoadOpenClConv() {
  if (Device() == nullptr) {
    SHOAL_ASSIGN_OR_RETURN(Device(), OpenClDevice::Start());
  }
  return ConvImplementation{kOpenClConvName, false, &Make<ConvForward, OpenClForward>,
                            &Make<ConvBackwardData, OpenClBackwardData>,
                            &Make<ConvBackwardWeights, OpenClBackwardWeights>};
}

}  // namespace shoal::kernels
