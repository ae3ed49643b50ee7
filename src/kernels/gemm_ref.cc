#include <cmath>
#include <cstddef>

#include "kernels/gemm.h"
#include "kernels/gemm_kernel.h"

namespace shoal::kernels {
namespace {

constexpr std::size_t kPanelColumns = 8;
constexpr std::size_t kTileRows = 4;

float* RowOfC(const GemmBlock& block, std::size_t i) {
  return block.c_rows != nullptr ? block.c_rows[i] : block.c + i * block.c_stride;
}

float Element(const GemmBlock& block, std::size_t i, std::size_t j) {
  const std::size_t panel_step = block.a_step == 0 ? kTileRows : block.a_step;
  const std::size_t a_step = block.a_panels ? panel_step : 1;
  const float* a = block.a_panels ? block.a + i / kTileRows * block.a_stride + i % kTileRows
                                  : block.a + i * block.a_stride;
  const float* b =
      block.panels + j / kPanelColumns * kPanelColumns * block.depth + j % kPanelColumns;
  float value = 0;
  for (std::size_t k = 0; k < block.depth; ++k) {
    value = std::fma(a[k * a_step], b[k * kPanelColumns], value);
  }
  if (block.end.add_c) value = RowOfC(block, i)[j] * block.end.beta + value;
  if (block.end.row_bias != nullptr) value += block.end.row_bias[i];
  if (block.end.column_bias != nullptr) value += block.end.column_bias[j];
  return block.end.relu && value < 0 ? 0 : value;
}

void MultiplyBlock(const GemmBlock& block) {
  for (std::size_t i = 0; i < block.rows; ++i) {
    for (std::size_t j = 0; j < block.columns; ++j) {
      RowOfC(block, i)[j] = Element(block, i, j);
    }
  }
}

void Copy(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns, float* out,
          std::size_t out_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[r * out_stride + c] = in[r * in_stride + c];
  }
}

void Transpose(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
               float* out, std::size_t out_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

void PackA(const float* in, std::size_t in_stride, std::size_t rows, std::size_t columns,
           float* out, std::size_t out_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      out[c / kTileRows * out_stride + r * kTileRows + c % kTileRows] = in[r * in_stride + c];
    }
  }
}

}  // namespace

GemmKernel RefGemmKernel() {
  // Small blocks, so that small tests reach every loop.
  return {.panel_columns = kPanelColumns,
          .panel_floats_max = kGemmDepth * 2 * kPanelColumns,
          .rows_max = 16,
          .tile_rows = kTileRows,
          .multiply = &MultiplyBlock,
          .copy = &Copy,
          .transpose = &Transpose,
          .pack_a = &PackA};
}

}  // namespace shoal::kernels
