// The patches of an image that a convolution multiplies with its weights, as a matrix that is
// never in memory: a row for each position of the kernel, a column for each tap and channel, in
// that order. Blocks of it are gathered when they are needed. Internal to kernels/.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/conv.h"
#include "kernels/gemm_kernel.h"
#include "kernels/gemm_loop.h"

namespace shoal::kernels {

// One axis: tap t of position i reads coordinate i · step + offsets[t] of the image, and 0 if
// that is outside.
struct PatchAxis {
  std::size_t positions = 0;
  std::size_t size = 0;  // Of the image.
  std::size_t step = 1;
  std::vector<std::ptrdiff_t> offsets;

  bool operator==(const PatchAxis&) const = default;
};

// Whether each tap reads the coordinate after that of the one before.
bool SideBySide(const std::vector<std::ptrdiff_t>& offsets);

// The positions whose taps from `offset` on, `taps` side by side, are all inside the image.
Range Inside(const PatchAxis& axis, std::ptrdiff_t offset, std::size_t taps);

struct PatchShape {
  std::size_t batch = 0;
  PatchAxis rows;
  PatchAxis columns;
  std::size_t channels = 0;

  std::size_t positions() const { return batch * rows.positions * columns.positions; }
  std::size_t taps() const { return rows.offsets.size() * columns.offsets.size(); }
};

// What a forward pass of `shape` reads, one group of it.
PatchShape ForwardPatches(const ConvShape& shape);

// The patches of one image. A view of its arguments; made for each run.
class Patches final : public GemmA {
 public:
  // `image` is NHWC, with `stride` floats between pixels.
  Patches(const PatchShape& shape, const float* image, std::size_t stride);

  std::size_t copy_rows(const GemmKernel& kernel) const override;
  Block Get(const GemmKernel& kernel, Range rows, Range k, float* copy) const override;

  // A run: columns that lie side by side in the image. All taps of a row of the kernel if the
  // pixels lie side by side, or the channels of one tap.
  std::size_t runs() const { return shape_.taps() / run_taps_; }
  std::size_t run_size() const { return run_taps_ * shape_.channels; }

  // Packs some columns of a run, at most kGemmDepth, into panels of A (GemmKernel::pack_a) whose
  // depth is `positions`.
  void GetPanels(const GemmKernel& kernel, Range positions, std::size_t run, Range columns,
                 float* out, std::size_t out_stride) const;

 private:
  // Where gathered values go: those of a position `step` floats after those of the one before.
  struct Sink {
    CopyFunction* copy;
    float* out;
    std::size_t step;
    std::size_t stride;

    void Put(const float* in, std::size_t in_stride, Range positions, std::size_t columns) const {
      copy(in, in_stride, positions.size, columns, out + positions.begin * step, stride);
    }
  };
  // Positions that are side by side in a row of one image; the first is number `first` of a sink.
  struct Segment {
    std::size_t image;
    std::size_t row;
    Range columns;
    std::size_t first;
  };

  template <class Function>
  void ForSegments(Range positions, const Function& function) const;
  void Gather(const Segment& segment, std::size_t run, Range columns, const Sink& sink) const;
  void GatherEdge(const float* row, std::ptrdiff_t column, Range columns, std::size_t position,
                  const Sink& sink) const;
  bool in_place() const;

  const PatchShape& shape_;
  const float* image_;
  std::size_t stride_;
  std::size_t run_taps_;
};

}  // namespace shoal::kernels
