#include "kernels/conv_phases.h"

#include <algorithm>
#include <utility>

namespace shoal::kernels {
namespace {

// One axis of a backward pass: the coordinates of dx that are congruent to `phase` modulo the
// stride read the same taps.
struct PhaseAxis {
  PatchAxis patches;              // Of dy; position i is coordinate phase + i · stride of dx.
  std::vector<std::size_t> taps;  // Which of the kernel's each offset belongs to.
};

// Taps go from the last to the first, so that what they read lies in ascending order.
PhaseAxis MakePhaseAxis(std::size_t phase, std::size_t dx_size, std::size_t dy_size,
                        std::size_t stride, std::size_t pad, std::size_t taps,
                        std::size_t dilation) {
  PhaseAxis axis;
  axis.patches.positions = phase < dx_size ? (dx_size - phase - 1) / stride + 1 : 0;
  axis.patches.size = dy_size;
  for (std::size_t t = taps; t-- > 0;) {
    const std::ptrdiff_t distance =
        static_cast<std::ptrdiff_t>(phase + pad) - static_cast<std::ptrdiff_t>(t * dilation);
    if (distance % static_cast<std::ptrdiff_t>(stride) != 0) continue;
    axis.patches.offsets.push_back(distance / static_cast<std::ptrdiff_t>(stride));
    axis.taps.push_back(t);
  }
  return axis;
}

ConvPhase MakePhase(const ConvShape& shape, std::size_t row, std::size_t column) {
  PhaseAxis rows = MakePhaseAxis(row, shape.height, shape.out_height(), shape.stride_h, shape.pad_h,
                                 shape.kernel_h, shape.dilation_h);
  PhaseAxis columns = MakePhaseAxis(column, shape.width, shape.out_width(), shape.stride_w,
                                    shape.pad_w, shape.kernel_w, shape.dilation_w);
  ConvPhase phase;
  for (const std::size_t r : rows.taps) {
    for (const std::size_t c : columns.taps) phase.taps.push_back(r * shape.kernel_w + c);
  }
  phase.first_pixel = row * shape.width + column;
  phase.grid = {.rows = rows.patches.positions,
                .columns = columns.patches.positions,
                .image_pitch = shape.height * shape.width,
                .row_pitch = shape.stride_h * shape.width,
                .column_pitch = shape.stride_w};
  phase.patches = {.batch = shape.batch,
                   .rows = std::move(rows.patches),
                   .columns = std::move(columns.patches),
                   .channels = shape.outputs / shape.groups};
  return phase;
}

}  // namespace

std::vector<ConvPhase> BackwardPhases(const ConvShape& shape) {
  std::vector<ConvPhase> phases;
  for (std::size_t row = 0; row < std::min(shape.stride_h, shape.height); ++row) {
    for (std::size_t column = 0; column < std::min(shape.stride_w, shape.width); ++column) {
      phases.push_back(MakePhase(shape, row, column));
    }
  }
  return phases;
}

ConvPhase ForwardPhase(const ConvShape& shape) {
  ConvPhase phase;
  phase.patches = ForwardPatches(shape);
  for (std::size_t tap = 0; tap < phase.patches.taps(); ++tap) phase.taps.push_back(tap);
  phase.grid = {.rows = shape.out_height(),
                .columns = shape.out_width(),
                .image_pitch = shape.out_height() * shape.out_width(),
                .row_pitch = shape.out_width(),
                .column_pitch = 1};
  return phase;
}

}  // namespace shoal::kernels
