#include "kernels/conv_patches.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace shoal::kernels {
namespace {

// Gathered rows are multiplied while they are still in the L1 or near it: few at a time.
constexpr std::size_t kTilesPerCopy = 4;

constexpr std::array<float, kGemmDepth> kZeros = {};

PatchAxis ForwardAxis(std::size_t positions, std::size_t size, std::size_t stride, std::size_t pad,
                      std::size_t taps, std::size_t dilation) {
  PatchAxis axis{.positions = positions, .size = size, .step = stride, .offsets = {}};
  for (std::size_t t = 0; t < taps; ++t) {
    axis.offsets.push_back(static_cast<std::ptrdiff_t>(t * dilation) -
                           static_cast<std::ptrdiff_t>(pad));
  }
  return axis;
}

}  // namespace

bool SideBySide(const std::vector<std::ptrdiff_t>& offsets) {
  for (std::size_t t = 1; t < offsets.size(); ++t) {
    if (offsets[t] != offsets[t - 1] + 1) return false;
  }
  return true;
}

Range Inside(const PatchAxis& axis, std::ptrdiff_t offset, std::size_t taps) {
  const auto step = static_cast<std::ptrdiff_t>(axis.step);
  const auto positions = static_cast<std::ptrdiff_t>(axis.positions);
  const auto last = static_cast<std::ptrdiff_t>(axis.size) - static_cast<std::ptrdiff_t>(taps);
  const std::ptrdiff_t begin = offset >= 0 ? 0 : (-offset + step - 1) / step;
  const std::ptrdiff_t end = last < offset ? 0 : (last - offset) / step + 1;
  const std::ptrdiff_t clipped = std::clamp<std::ptrdiff_t>(end, 0, positions);
  if (begin >= clipped) return {0, 0};
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(clipped - begin)};
}

PatchShape ForwardPatches(const ConvShape& shape) {
  return {.batch = shape.batch,
          .rows = ForwardAxis(shape.out_height(), shape.height, shape.stride_h, shape.pad_h,
                              shape.kernel_h, shape.dilation_h),
          .columns = ForwardAxis(shape.out_width(), shape.width, shape.stride_w, shape.pad_w,
                                 shape.kernel_w, shape.dilation_w),
          .channels = shape.channels / shape.groups};
}

Patches::Patches(const PatchShape& shape, const float* image, std::size_t stride)
    : shape_(shape), image_(image), stride_(stride), run_taps_(1) {
  if (stride == shape.channels && SideBySide(shape.columns.offsets)) {
    run_taps_ = shape.columns.offsets.size();
  }
}

bool Patches::in_place() const {
  const auto one_to_one = [](const PatchAxis& axis) {
    return axis.positions == axis.size && axis.step == 1 && axis.offsets.size() == 1 &&
           axis.offsets[0] == 0;
  };
  return one_to_one(shape_.rows) && one_to_one(shape_.columns);
}

std::size_t Patches::copy_rows(const GemmKernel& kernel) const {
  return in_place() ? 0 : kTilesPerCopy * kernel.tile_rows;
}

GemmA::Block Patches::Get(const GemmKernel& kernel, Range rows, Range k, float* copy) const {
  if (in_place()) return {image_ + rows.begin * stride_ + k.begin, stride_};
  ForSegments(rows, [&](const Segment& segment) {
    for (std::size_t done = 0; done < k.size;) {
      const std::size_t run = (k.begin + done) / run_size();
      const std::size_t begin = (k.begin + done) % run_size();
      const Range columns{begin, std::min(run_size() - begin, k.size - done)};
      Gather(segment, run, columns, {kernel.copy, copy + done, kGemmCopyStride, kGemmCopyStride});
      done += columns.size;
    }
  });
  return {copy, kGemmCopyStride};
}

void Patches::GetPanels(const GemmKernel& kernel, Range positions, std::size_t run, Range columns,
                        float* out, std::size_t out_stride) const {
  const Sink sink{kernel.pack_a, out, kernel.tile_rows, out_stride};
  if (in_place()) {
    sink.Put(image_ + positions.begin * stride_ + columns.begin, stride_, {0, positions.size},
             columns.size);
    return;
  }
  ForSegments(positions, [&](const Segment& segment) { Gather(segment, run, columns, sink); });
}

template <class Function>
void Patches::ForSegments(Range positions, const Function& function) const {
  const std::size_t width = shape_.columns.positions;
  for (std::size_t done = 0; done < positions.size;) {
    const std::size_t begin = positions.begin + done;
    const std::size_t row = begin / width;
    const std::size_t count = std::min(width - begin % width, positions.size - done);
    function(Segment{
        row / shape_.rows.positions, row % shape_.rows.positions, {begin % width, count}, done});
    done += count;
  }
}

// Some columns of one run for the positions of a segment: those in the middle at once, those at
// the edges of the image one by one.
void Patches::Gather(const Segment& segment, std::size_t run, Range columns,
                     const Sink& sink) const {
  const std::size_t runs_across = shape_.columns.offsets.size() / run_taps_;
  const std::ptrdiff_t y = static_cast<std::ptrdiff_t>(segment.row * shape_.rows.step) +
                           shape_.rows.offsets[run / runs_across];
  if (y < 0 || y >= static_cast<std::ptrdiff_t>(shape_.rows.size)) {
    sink.Put(kZeros.data(), 0, {segment.first, segment.columns.size}, columns.size);
    return;
  }
  const std::size_t pixel =
      (segment.image * shape_.rows.size + static_cast<std::size_t>(y)) * shape_.columns.size;
  const float* row = image_ + pixel * stride_;
  const std::ptrdiff_t offset = shape_.columns.offsets[run % runs_across * run_taps_];
  const auto x = [&](std::size_t position) {
    return static_cast<std::ptrdiff_t>(position * shape_.columns.step) + offset;
  };
  const Range inside = Inside(shape_.columns, offset, run_taps_);
  const std::size_t end = segment.columns.begin + segment.columns.size;
  const std::size_t middle = std::clamp(inside.begin, segment.columns.begin, end);
  const std::size_t middle_end = std::clamp(inside.begin + inside.size, middle, end);
  const std::size_t number = segment.first - segment.columns.begin;  // Wraps, and back.
  for (std::size_t j = segment.columns.begin; j < middle; ++j) {
    GatherEdge(row, x(j), columns, number + j, sink);
  }
  if (middle < middle_end) {
    const float* in = row + static_cast<std::size_t>(x(middle)) * stride_ + columns.begin;
    sink.Put(in, shape_.columns.step * stride_, {number + middle, middle_end - middle},
             columns.size);
  }
  for (std::size_t j = middle_end; j < end; ++j) GatherEdge(row, x(j), columns, number + j, sink);
}

// One position whose run begins at pixel `column` of a row of the image and leaves it.
void Patches::GatherEdge(const float* row, std::ptrdiff_t column, Range columns,
                         std::size_t position, const Sink& sink) const {
  const auto floats = [&](std::ptrdiff_t taps) {
    return std::clamp<std::ptrdiff_t>(taps, 0, static_cast<std::ptrdiff_t>(run_taps_)) *
           static_cast<std::ptrdiff_t>(shape_.channels);
  };
  const auto begin = static_cast<std::ptrdiff_t>(columns.begin);
  const auto end = static_cast<std::ptrdiff_t>(columns.begin + columns.size);
  const std::ptrdiff_t first = std::max(begin, floats(-column));
  const std::ptrdiff_t last =
      std::min(end, floats(static_cast<std::ptrdiff_t>(shape_.columns.size) - column));
  if (first >= last) {
    sink.Put(kZeros.data(), 0, {position, 1}, columns.size);
    return;
  }
  std::array<float, kGemmDepth> values;
  SHOAL_CHECK_LE(columns.size, values.size());
  std::fill(values.begin(), values.begin() + (first - begin), 0.0F);
  const float* in = row + column * static_cast<std::ptrdiff_t>(stride_);
  std::copy(in + first, in + last, values.begin() + (first - begin));
  std::fill(values.begin() + (last - begin), values.begin() + (end - begin), 0.0F);
  sink.Put(values.data(), 0, {position, 1}, columns.size);
}

}  // namespace shoal::kernels
