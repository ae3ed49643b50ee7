// WinogradWeightGrad: the gradients of a 3 × 3 convolution of stride 1 by its weights and bias, for
// one group of channels. Internal to kernels/.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/conv.h"
#include "kernels/gemm_kernel.h"
#include "kernels/winograd_kernel.h"
#include "kernels/winograd_tiles.h"

namespace shoal::kernels {

class WinogradWeightGrad {
 public:
  // `shape` is that of the group: its groups are 1. `dw_stride` lies between rows of dw.
  WinogradWeightGrad(std::size_t side, const ConvShape& shape, std::size_t dw_stride,
                     const ConvOptions& options);

  std::size_t workspace_floats() const;
  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) const;

 private:
  struct Call;
  struct Piece;

  void Spread(const Call& call, Range tiles, std::size_t first, std::size_t block_tiles) const;
  void SpreadBlock(const Call& call, Range tiles, Parallel& parallel) const;
  void Multiply(const Call& call, const Piece& piece, std::size_t position, std::size_t tiles,
                bool add) const;
  void Gather(const Call& call, const Piece& piece) const;
  void SumBias(const Call& call, std::size_t tiles, bool add) const;
  void RunOneBlock(const Call& call, Parallel& parallel) const;
  void RunBlocks(const Call& call, Parallel& parallel) const;

  const ConvShape shape_;
  const std::size_t dw_stride_;
  const std::size_t workers_;
  const GemmKernel gemm_;
  const WinogradKernel kernel_;
  const WinogradTiles tiles_;

  // Floats between the positions of the transformed inputs, output gradients and weights.
  std::size_t v_stride_ = 0;
  std::size_t d_stride_ = 0;
  std::size_t u_stride_ = 0;
  std::size_t block_tiles_ = 0;
  bool one_block_ = false;
  // Of dU that is in memory at a time: all, or a piece for each worker.
  std::size_t piece_rows_ = 0;
  std::size_t piece_columns_ = 0;
};

}  // namespace shoal::kernels
