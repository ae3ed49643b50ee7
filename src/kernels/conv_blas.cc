#include "kernels/conv_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "kernels/conv_im2col.h"
#include "kernels/conv_pixels.h"

namespace shoal::kernels {
namespace {

// CBLAS's enums.
enum : int { kRowMajor = 101, kPlain = 111, kTransposed = 112 };
using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float* a, int a_stride, const float* b, int b_stride, float beta, float* c,
                   int c_stride);
using SetThreads = void(int count);

struct OpenBlas {
  Sgemm* sgemm = nullptr;
  SetThreads* set_threads = nullptr;
};

// OpenBLAS 0.3.21 takes CPUs that came after it for very old ones and is then five times slower
// than it can be: give it the kernels that this CPU can run.
OpenBlas Load() {
  const Target best = BestTarget();
  if (best == Target::kAvx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  if (best == Target::kAvx2) setenv("OPENBLAS_CORETYPE", "Haswell", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  return {reinterpret_cast<Sgemm*>(dlsym(library, "cblas_sgemm")),
          reinterpret_cast<SetThreads*>(dlsym(library, "openblas_set_num_threads"))};
}

const OpenBlas& Library() {
  static const OpenBlas library = Load();
  return library;
}

struct Matrix {
  const float* data;
  std::size_t stride;
  bool transposed = false;
};

// c[m, n] = a · b + beta · c
void Multiply(std::size_t m, std::size_t n, std::size_t k, Matrix a, Matrix b, float beta,
              Pixels c) {
  const auto size = [](std::size_t value) { return static_cast<int>(value); };
  Library().sgemm(kRowMajor, a.transposed ? kTransposed : kPlain,
                  b.transposed ? kTransposed : kPlain, size(m), size(n), size(k), 1.0F, a.data,
                  size(a.stride), b.data, size(b.stride), beta, c.data, size(c.stride));
}

// The matrix of patches of a task is at most so large (unless one row of outputs is larger): 4 MiB
// stay in a last-level cache.
constexpr std::size_t kColumnsMax = std::size_t{1} << 20U;
// A gradient of weights is cut into so many rows of it, or few more.
constexpr std::size_t kWeightTasks = 8;

// What the passes share: a group's matrices and how rows of outputs are cut into bands.
class Im2ColPlan {
 public:
  Im2ColPlan(const ConvShape& shape, const ConvOptions& options)
      : s(shape),
        workers(options.workers),
        k(shape.kernel_h * shape.kernel_w * (shape.channels / shape.groups)),
        n(shape.outputs / shape.groups),
        channels(shape.channels / shape.groups),
        direct(PatchesArePixels(shape)) {
    const std::size_t row_floats = std::max<std::size_t>(1, s.out_width() * k);
    band_rows = std::clamp<std::size_t>(kColumnsMax / row_floats, 1, s.out_height());
    bands = (s.out_height() + band_rows - 1) / band_rows;
  }

  std::size_t column_floats(std::size_t columns) const {
    return (band_rows * s.out_width() * columns + 15) / 16 * 16;
  }
  Im2ColBlock Block(std::size_t image, std::size_t band, std::size_t group) const {
    const std::size_t row = band * band_rows;
    return {.image = image,
            .group = group,
            .row = row,
            .rows = std::min(band_rows, s.out_height() - row),
            .k_begin = 0,
            .k_size = k};
  }
  std::size_t Positions(const Im2ColBlock& block) const { return block.rows * s.out_width(); }
  std::size_t FirstPosition(const Im2ColBlock& block) const {
    return (block.image * s.out_height() + block.row) * s.out_width();
  }
  // The patches of a block: where the pixels are, or in `columns`.
  Matrix Patches(const Im2ColBlock& block, ConstPixels x, float* columns) const {
    if (direct) {
      return {x.data + FirstPosition(block) * x.stride + block.group * channels + block.k_begin,
              x.stride};
    }
    Im2Col(s, block, x, columns);
    return {columns, block.k_size};
  }

  const ConvShape s;
  const std::size_t workers;
  const std::size_t k;  // Taps · channels, and
  const std::size_t n;  // outputs, of a group.
  const std::size_t channels;
  const bool direct;
  std::size_t band_rows;
  std::size_t bands;
};

class BlasForward final : public ConvForward {
 public:
  BlasForward(const ConvShape& shape, const ConvOptions& options) : plan_(shape, options) {}

  std::size_t workspace_floats() const override {
    return plan_.direct ? 0 : plan_.workers * plan_.column_floats(plan_.k);
  }

  void Run(const ConvForwardArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), plan_.workers);
    Library().set_threads(1);
    parallel.Run(plan_.s.batch * plan_.bands, [&](std::size_t task, std::size_t worker) {
      RunBand(args, task / plan_.bands, task % plan_.bands,
              workspace + worker * plan_.column_floats(plan_.k));
    });
  }

 private:
  void RunBand(const ConvForwardArgs& args, std::size_t image, std::size_t band,
               float* columns) const {
    const std::size_t outputs = plan_.s.outputs;
    const std::size_t positions = plan_.Positions(plan_.Block(image, band, 0));
    const Pixels y{args.y + plan_.FirstPosition(plan_.Block(image, band, 0)) * args.y_stride,
                   args.y_stride};
    for (std::size_t group = 0; group < plan_.s.groups; ++group) {
      const Matrix patches =
          plan_.Patches(plan_.Block(image, band, group), {args.x, args.x_stride}, columns);
      Multiply(positions, plan_.n, plan_.k, patches, {args.w + group * plan_.n, outputs}, 0,
               {y.data + group * plan_.n, y.stride});
    }
    FinishPixels(y, positions, outputs, args.bias, args.relu);
  }

  Im2ColPlan plan_;
};

class BlasBackwardData final : public ConvBackwardData {
 public:
  BlasBackwardData(const ConvShape& shape, const ConvOptions& options) : plan_(shape, options) {}

  std::size_t workspace_floats() const override {
    return plan_.direct ? 0 : plan_.workers * plan_.column_floats(plan_.k);
  }

  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), plan_.workers);
    Library().set_threads(1);
    parallel.Run(plan_.s.batch, [&](std::size_t image, std::size_t worker) {
      RunImage(args, image, workspace + worker * plan_.column_floats(plan_.k));
    });
  }

 private:
  // Patches overlap, so that one task adds all of an image.
  void RunImage(const ConvBackwardDataArgs& args, std::size_t image, float* columns) const {
    const Pixels dx{args.dx, args.dx_stride};
    const std::size_t pixels = plan_.s.height * plan_.s.width;
    for (std::size_t p = image * pixels; p < (image + 1) * pixels; ++p) {
      if (plan_.direct || args.accumulate) break;
      std::fill_n(dx.data + p * dx.stride, plan_.s.channels, 0.0F);
    }
    for (std::size_t band = 0; band < plan_.bands; ++band) {
      for (std::size_t group = 0; group < plan_.s.groups; ++group) {
        RunBand(args, plan_.Block(image, band, group), dx, columns);
      }
    }
  }

  void RunBand(const ConvBackwardDataArgs& args, const Im2ColBlock& block, Pixels dx,
               float* columns) const {
    const Matrix dy{args.dy + plan_.FirstPosition(block) * args.dy_stride + block.group * plan_.n,
                    args.dy_stride};
    const Matrix w{args.w + block.group * plan_.n, plan_.s.outputs, true};
    if (plan_.direct) {
      dx.data += plan_.FirstPosition(block) * dx.stride + block.group * plan_.channels;
      Multiply(plan_.Positions(block), plan_.k, plan_.n, dy, w, args.accumulate ? 1.0F : 0.0F, dx);
      return;
    }
    Multiply(plan_.Positions(block), plan_.k, plan_.n, dy, w, 0, {columns, plan_.k});
    AddCol2Im(plan_.s, block, columns, dx);
  }

  Im2ColPlan plan_;
};

class BlasBackwardWeights final : public ConvBackwardWeights {
 public:
  BlasBackwardWeights(const ConvShape& shape, const ConvOptions& options)
      : plan_(shape, options),
        part_k_((plan_.k + kWeightTasks - 1) / kWeightTasks),
        parts_((plan_.k + part_k_ - 1) / part_k_) {}

  std::size_t workspace_floats() const override {
    return sums_floats() + (plan_.direct ? 0 : plan_.workers * plan_.column_floats(part_k_));
  }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), plan_.workers);
    Library().set_threads(1);
    parallel.Run(plan_.s.groups * parts_, [&](std::size_t task, std::size_t worker) {
      RunPart(args, task / parts_, task % parts_,
              workspace + sums_floats() + worker * plan_.column_floats(part_k_));
    });
    if (args.dbias == nullptr) return;
    ColumnSums({args.dy, args.dy_stride}, plan_.s.out_pixels(), plan_.s.outputs, args.accumulate,
               args.dbias, workspace, parallel);
  }

 private:
  std::size_t sums_floats() const { return (ColumnSumFloats(plan_.s.outputs) + 15) / 16 * 16; }

  // Some rows of dw, which are columns of the patches, over all images: nothing to add up later.
  void RunPart(const ConvBackwardWeightsArgs& args, std::size_t group, std::size_t part,
               float* columns) const {
    const std::size_t first = part * part_k_;
    const std::size_t size = std::min(part_k_, plan_.k - first);
    const Pixels dw{args.dw + first * plan_.s.outputs + group * plan_.n, plan_.s.outputs};
    float beta = args.accumulate ? 1.0F : 0.0F;
    for (std::size_t task = 0; task < plan_.s.batch * plan_.bands; ++task) {
      Im2ColBlock block = plan_.Block(task / plan_.bands, task % plan_.bands, group);
      block.k_begin = first;
      block.k_size = size;
      Matrix patches = plan_.Patches(block, {args.x, args.x_stride}, columns);
      patches.transposed = true;
      const Matrix dy{args.dy + plan_.FirstPosition(block) * args.dy_stride + group * plan_.n,
                      args.dy_stride};
      Multiply(size, plan_.n, plan_.Positions(block), patches, dy, beta, dw);
      beta = 1;
    }
  }

  Im2ColPlan plan_;
  std::size_t part_k_;
  std::size_t parts_;
};

// A target that is asked for by name is one of our own kernels.
template <class Interface, class Pass>
std::unique_ptr<Interface> Make(const ConvShape& shape, const ConvOptions& options) {
  if (options.target != BestTarget()) return nullptr;
  return std::make_unique<Pass>(shape, options);
}

}  // namespace

Result<ConvImplementation> LoadBlasConv() {
  if (Library().sgemm == nullptr || Library().set_threads == nullptr) {
    return Status(Code::kUnavailable, "OpenBLAS (libopenblas.so.0) is not installed");
  }
  return ConvImplementation{kBlasConvName, false, &Make<ConvForward, BlasForward>,
                            &Make<ConvBackwardData, BlasBackwardData>,
                            &Make<ConvBackwardWeights, BlasBackwardWeights>};
}

}  // namespace shoal::kernels
