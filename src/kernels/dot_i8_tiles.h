// What the implementations of MatMulI8 share: a target supplies a function for a tile of rows and
// columns and one for a single output, and this cuts the matrix into them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal::kernels {

struct MatMulI8Args {
  const std::int8_t* w;  // [rows, k]
  const std::int8_t* x;  // [columns, k]
  std::int32_t* y;       // [columns, y_stride], of which the first `rows` are written.
  std::size_t rows;
  std::size_t columns;
  std::size_t k;
  std::size_t y_stride;
};

// Writes y[c * y_stride + r] for the tile's rows r and columns c.
using DotI8Tile = void(const std::int8_t* w, const std::int8_t* x, std::size_t k, std::int32_t* y,
                       std::size_t y_stride);

// Calls `tile` for whole tiles, rows outermost: what they read of w stays in the cache while the
// columns pass; `single` for the outputs that are left.
template <std::size_t kRows, std::size_t kColumns>
void ForTiles(const MatMulI8Args& a, DotI8Tile* tile, DotI8Tile* single) {
  const std::size_t whole_columns = a.columns / kColumns * kColumns;
  const auto singles = [&](std::size_t r, std::size_t rows, std::size_t first_column) {
    for (std::size_t c = first_column; c < a.columns; ++c) {
      for (std::size_t i = r; i < r + rows; ++i) {
        single(a.w + i * a.k, a.x + c * a.k, a.k, a.y + c * a.y_stride + i, a.y_stride);
      }
    }
  };
  std::size_t r = 0;
  for (; r + kRows <= a.rows; r += kRows) {
    for (std::size_t c = 0; c < whole_columns; c += kColumns) {
      tile(a.w + r * a.k, a.x + c * a.k, a.k, a.y + c * a.y_stride + r, a.y_stride);
    }
    singles(r, kRows, whole_columns);
  }
  singles(r, a.rows - r, 0);
}

// The elements from `begin` on that fill no vector.
inline std::int32_t DotI8Rest(const std::int8_t* x, const std::int8_t* y, std::size_t begin,
                              std::size_t k) {
  std::int32_t sum = 0;
  for (std::size_t i = begin; i < k; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace shoal::kernels
