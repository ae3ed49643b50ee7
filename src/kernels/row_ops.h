// Simple operations on matrices of pixels by channels: what joins, scales and sums blobs. See
// rows.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// y = value.
void FillRows(float value, Rows y, Parallel& parallel, Target target = BestTarget());

// y = a * x + b * y. With b = 0, y is not read: (1, 0) copies, (1, 1) adds.
void CombineRows(float a, ConstRows x, float b, Rows y, Parallel& parallel,
                 Target target = BestTarget());
inline void CopyRows(ConstRows x, Rows y, Parallel& parallel, Target target = BestTarget()) {
  CombineRows(1, x, 0, y, parallel, target);
}
inline void AddRows(ConstRows x, Rows y, Parallel& parallel, Target target = BestTarget()) {
  CombineRows(1, x, 1, y, parallel, target);
}

// z = x * y, or with `accumulate` z += x * y (the gradient of a product).
void MultiplyRows(ConstRows x, ConstRows y, Rows z, bool accumulate, Parallel& parallel,
                  Target target = BestTarget());

// y = the largest of the inputs. `index` (dense, a byte per element) receives which one it was, or
// is null: of equal ones the earliest, but the second before the first, as in Caffe. y overlaps no
// input. REQUIRES: 2 to 256 inputs.
void MaxOfRows(std::span<const ConstRows> inputs, Rows y, std::uint8_t* index, Parallel& parallel,
               Target target = BestTarget());
// dx = dy where the maximum was `input`, else 0; with `accumulate`, dx += it.
void MaxOfRowsBackward(ConstRows dy, const std::uint8_t* index, std::size_t input, Rows dx,
                       bool accumulate, Parallel& parallel, Target target = BestTarget());

// y = x * factor + offset, per channel; an empty span is ones or zeros.
// With `accumulate`, y += it (the gradient by x of the same with dy for x).
void ScaleChannels(ConstRows x, std::span<const float> factor, std::span<const float> offset,
                   Rows y, bool accumulate, Parallel& parallel, Target target = BestTarget());

// Scratch for the two below.
std::size_t ColumnSumsScratchFloats(std::size_t rows, std::size_t channels);

// sums = the sum over rows of each channel (a bias's gradient), or with `accumulate` sums += it.
void ColumnSums(ConstRows x, std::span<float> sums, bool accumulate, std::span<float> scratch,
                Parallel& parallel, Target target = BestTarget());

// The gradients of ScaleChannels by its factors and offsets: sums over rows of x * dy and of dy.
// An empty doffset is not wanted.
void ScaleChannelsBackward(ConstRows x, ConstRows dy, std::span<float> dfactor,
                           std::span<float> doffset, bool accumulate, std::span<float> scratch,
                           Parallel& parallel, Target target = BestTarget());

// Between our pixels by channels and the planes of channels that files and fully connected weights
// speak of: planes[n][c][p] is x row n · pixels + p, channel c. With `accumulate` the destination
// is added to. REQUIRES: planes holds x's elements; x.rows is a multiple of pixels.
void RowsToPlanes(ConstRows x, std::size_t pixels, std::span<float> planes, bool accumulate,
                  Parallel& parallel);
void PlanesToRows(std::span<const float> planes, std::size_t pixels, Rows x, bool accumulate,
                  Parallel& parallel);

}  // namespace shoal::kernels
