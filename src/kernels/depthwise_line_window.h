// Which lines of an image a depthwise convolution by lines needs at a time, and where they are
// packed. Internal to kernels/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/conv_patches.h"
#include "kernels/conv_phases.h"
#include "kernels/depthwise_line_kernel.h"
#include "kernels/float_scratch.h"

namespace shoal::kernels {

inline std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
inline std::ptrdiff_t Signed(std::size_t a) { return static_cast<std::ptrdiff_t>(a); }
inline std::size_t AtLeast0(std::ptrdiff_t a) {
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, a));
}

// The lines of the image that some phases need at a time, and how they are packed: with zeros
// beside them, where taps are outside.
class LineWindow {
 public:
  explicit LineWindow(const std::vector<ConvPhase>& phases) {
    const PatchShape& any = phases.front().patches;
    step_ = any.rows.step;
    height_ = any.rows.size;
    width_ = any.columns.size;
    std::ptrdiff_t right = Signed(width_);
    low_ = any.rows.offsets.front();
    high_ = low_;
    for (const ConvPhase& phase : phases) {
      const PatchAxis& columns = phase.patches.columns;
      low_ = std::min(low_, phase.patches.rows.offsets.front());
      high_ = std::max(high_, phase.patches.rows.offsets.back() + 1);
      left_ = std::max(left_, AtLeast0(-columns.offsets.front()));
      right =
          std::max(right, Signed(columns.positions * columns.step) + columns.offsets.back() + 1);
    }
    pitch_ = (left_ + AtLeast0(right)) * kDepthwiseBlock;
  }

  std::size_t floats() const { return slots() * pitch_; }
  std::size_t width() const { return width_; }

  // The lines that position `i` needs, of those of the image: [begin, end).
  std::size_t begin(std::size_t i) const {
    return std::min(height_, AtLeast0(Signed(i * step_) + low_));
  }
  std::size_t end(std::size_t i) const {
    return std::min(height_, AtLeast0(Signed(i * step_) + high_));
  }

  // Where line `y` is packed: its first pixel.
  float* Line(float* room, std::size_t y) const {
    return room + y % slots() * pitch_ + left_ * kDepthwiseBlock;
  }

  // The lines that a position of a phase reads, and the first of its taps' rows that is inside.
  DepthwiseRows Rows(const ConvPhase& phase, const float* room, std::size_t i,
                     std::size_t& first) const {
    const PatchAxis& rows = phase.patches.rows;
    DepthwiseRows lines{.x = {}, .size = 0};
    first = 0;
    for (std::size_t r = 0; r < rows.offsets.size(); ++r) {
      const std::ptrdiff_t y = Signed(i * rows.step) + rows.offsets[r];
      if (y < 0 || y >= Signed(height_)) continue;
      if (lines.size == 0) first = r;
      lines.x[lines.size++] =
          room + static_cast<std::size_t>(y) % slots() * pitch_ +
          (Signed(left_) + phase.patches.columns.offsets.front()) * Signed(kDepthwiseBlock);
    }
    return lines;
  }

 private:
  std::size_t slots() const { return static_cast<std::size_t>(high_ - low_); }

  std::size_t step_;
  std::size_t height_;
  std::size_t width_;
  std::ptrdiff_t low_;   // What position i needs is from i · step + low_ …
  std::ptrdiff_t high_;  // … to i · step + high_.
  std::size_t left_ = 0;
  std::size_t pitch_;
};

// Whether all positions read lines side by side, of taps side by side, that the kernels know.
template <class Find>
bool AreLines(const std::vector<ConvPhase>& phases, Find* find) {
  return std::all_of(phases.begin(), phases.end(), [&](const ConvPhase& phase) {
    const PatchAxis& rows = phase.patches.rows;
    const PatchAxis& columns = phase.patches.columns;
    return !rows.offsets.empty() && rows.offsets.size() <= kDepthwiseRows &&
           SideBySide(rows.offsets) && !columns.offsets.empty() && SideBySide(columns.offsets) &&
           find(columns.offsets.size(), columns.step) != nullptr;
  });
}

// Room of each worker, zero at first: what lies beside the lines stays so.
inline std::vector<FloatScratch> MakeRooms(std::size_t workers, std::size_t floats) {
  std::vector<FloatScratch> rooms(workers);
  for (FloatScratch& room : rooms) std::fill_n(room.Reserve(floats), floats, 0.0F);
  return rooms;
}

}  // namespace shoal::kernels
