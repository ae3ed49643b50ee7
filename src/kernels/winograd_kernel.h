// What Winograd's convolutions (conv_winograd.h) need from an instruction set beside the GEMM's
// tiles. Internal to kernels/.
//
// All transforms are of one of two kinds: from pixels (or the taps of a kernel), each an array of
// channels somewhere in memory, to the positions of a tile, or back.
#pragma once

#include <cstddef>

#include "kernels/target.h"

namespace shoal::kernels {

// Most pixels of a window, positions of a tile, and pixels of a tile.
inline constexpr std::size_t kWinogradPositionsMax = 36;
inline constexpr std::size_t kWinogradOutputsMax = 16;
inline constexpr std::size_t kWinogradTaps = 9;

// Where the positions of a tile go: channel c of position p to
// data[p · position_stride + c / panel_columns · panel_stride + c % panel_columns].
// A row of a matrix is made of panels that follow each other.
struct WinogradPanels {
  float* data = nullptr;
  std::size_t position_stride = 0;
  std::size_t panel_columns = 0;  // As the target's GEMM has them.
  std::size_t panel_stride = 0;
};

// What happens to values on their way from positions to pixels: += what was there, + bias, ReLU.
struct WinogradEnd {
  bool accumulate = false;
  const float* bias = nullptr;  // [channels], or none.
  bool relu = false;
};

// Writes whole vectors: up to kWinogradLanesMax - 1 channels more, which are 0.
using WinogradSpread = void(const float* const* pixels, std::size_t channels,
                            const WinogradPanels& to);
// Reads whole vectors (as above), writes `channels` only. Pixels may be the same one.
using WinogradGather = void(const float* positions, std::size_t position_stride,
                            std::size_t channels, float* const* pixels, const WinogradEnd& end);

inline constexpr std::size_t kWinogradLanesMax = 16;

struct WinogradKernel {
  std::size_t lanes;             // Divides the panel columns of the target's GEMM.
  WinogradSpread* input;         // [(side + 2)²] -> [(side + 2)²]
  WinogradSpread* weights;       // [3²] -> [(side + 2)²]
  WinogradGather* output;        // [(side + 2)²] -> [side²]
  WinogradSpread* output_grad;   // The adjoint of output.
  WinogradGather* weights_grad;  // The adjoint of weights.
};

// F(side × side, 3 × 3). REQUIRES: side is 2 or 4, this CPU has `target`.
WinogradKernel ChooseWinogradKernel(std::size_t side, Target target);

}  // namespace shoal::kernels
