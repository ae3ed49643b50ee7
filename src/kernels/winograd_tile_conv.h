// WinogradTileConv: y = conv(x, w) for one group of channels, 3 × 3 and stride 1: what the forward
// pass is, and the gradient by x with the weights turned around. Internal to kernels/.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/conv.h"
#include "kernels/gemm_kernel.h"
#include "kernels/winograd_kernel.h"
#include "kernels/winograd_tiles.h"

namespace shoal::kernels {

struct WinogradTileConvArgs {
  const float* x = nullptr;
  std::size_t x_stride = 0;
  const float* w = nullptr;
  float* y = nullptr;
  std::size_t y_stride = 0;
  WinogradEnd end;
};

// Tap (i, j) from channel k to output n is
//   w[((3 i + j) · channels + k) · stride + n], or turned around
//   w[((3 (2 - i) + 2 - j) · outputs + n) · stride + k].
struct WinogradWeights {
  std::size_t stride = 0;
  bool turned = false;
};

class WinogradTileConv {
 public:
  // `shape` is that of the group: its groups are 1.
  WinogradTileConv(std::size_t side, const ConvShape& shape, const WinogradWeights& weights,
                   const ConvOptions& options);

  std::size_t workspace_floats() const;
  void Run(const WinogradTileConvArgs& args, float* workspace, Parallel& parallel) const;

 private:
  struct Call;

  std::size_t row_floats() const;
  std::size_t worker_floats() const;
  std::size_t shared_floats() const;
  std::size_t scratch_floats() const;
  void TransformWeights(const Call& call, Range rows, Range columns, const WinogradPanels& to,
                        float* scratch) const;
  void TransformAllWeights(const Call& call, Range rows, float* scratch) const;
  void Spread(const Call& call, Range tiles, float* v) const;
  void Multiply(const Call& call, std::size_t position, std::size_t rows) const;
  void Gather(const Call& call, Range tiles, Range columns, const float* m, float* outside) const;
  void RunBlock(const Call& call, Range tiles, float* outside) const;
  void RunBlocks(const Call& call, Parallel& parallel) const;
  void RunColumns(const Call& call, Range columns, float* outside) const;
  void RunStreamed(const Call& call, Parallel& parallel) const;

  const ConvShape shape_;
  const WinogradWeights weights_;
  const std::size_t workers_;
  const GemmKernel gemm_;
  const WinogradKernel kernel_;
  const WinogradTiles tiles_;

  // Floats between the positions of the transformed weights, inputs and products.
  std::size_t u_stride_ = 0;
  std::size_t v_stride_ = 0;
  std::size_t m_stride_ = 0;
  bool streamed_ = false;        // Whether weights are transformed piece by piece.
  std::size_t block_tiles_ = 0;  // Worked on at a time,
  std::size_t columns_ = 0;      // and their outputs.
};

}  // namespace shoal::kernels
