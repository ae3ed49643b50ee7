// The tile of the blocked GEMM: rows × vectors of C whose sums stay in registers while k
// runs. Vector lanes are columns, never k. Included once per target by gemm_kernel.cc.
#if defined(SHOAL_KERNELS_GEMM_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_GEMM_TILE_INL_H
#undef SHOAL_KERNELS_GEMM_TILE_INL_H
#else
#define SHOAL_KERNELS_GEMM_TILE_INL_H
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/gemm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

// As many sums as leave registers for the vectors of B and one value of A (NEON: four
// values of every row; gcc spills with a seventh). 14 rows suit convolutions, whose m is
// often a multiple of 14²; with everything in the L2 they reach 95 % of the peak.
#if HWY_TARGET == HWY_AVX3
inline constexpr std::size_t kTileRows = 14;
inline constexpr std::size_t kTileVectors = 2;
#elif HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kTileRows = 6;
inline constexpr std::size_t kTileVectors = 2;
#else
inline constexpr std::size_t kTileRows = 6;
inline constexpr std::size_t kTileVectors = 3;
#endif
inline constexpr std::size_t kLanes = hn::MaxLanes(Floats());
inline constexpr std::size_t kPanelColumns = kTileVectors * kLanes;

// How many k the main loop takes at once. With four and AVX2, gcc loads the next row of a panel
// too early, runs out of registers and spills a sum, whose chain then goes through memory: 90
// instead of 96 % of the peak. Panels of A, which need one pointer, are best with four: 97 %.
inline constexpr std::size_t kStep = 4;
inline constexpr std::size_t kRowStep = HWY_TARGET == HWY_AVX2 ? 2 : kStep;

// All loops over a tile have constant bounds and are unrolled, so that it is registers.
template <std::size_t kRows, std::size_t kVectors>
using Tile = Vector[kRows][kVectors];

// The rows of A. A pointer for every third row is all that the compilers need to address
// 14 rows without running out of general registers.
template <std::size_t kRows>
class RowPointers {
 public:
  static constexpr std::size_t kStepSize = kRowStep;
  HWY_INLINE RowPointers(const float* a, std::size_t stride) : stride_(stride) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kRows; i += 3) third_[i / 3] = a + i * stride;
  }
  HWY_INLINE const float* operator[](std::size_t row) const {
    return third_[row / 3] + row % 3 * stride_;
  }
  HWY_INLINE float At(std::size_t row, std::size_t k) const { return (*this)[row][k]; }
  HWY_INLINE void Advance(std::size_t count) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kRows; i += 3) third_[i / 3] += count;
  }

 private:
  const float* third_[(kRows + 2) / 3];
  std::size_t stride_;
};

// The same for a panel of A, whose columns lie `stride` floats apart.
class PanelRows {
 public:
  static constexpr std::size_t kStepSize = kStep;
  HWY_INLINE PanelRows(const float* a, std::size_t stride) : a_(a), stride_(stride) {}
  HWY_INLINE const float* Column(std::size_t k) const { return a_ + k * stride_; }
  HWY_INLINE float At(std::size_t row, std::size_t k) const { return Column(k)[row]; }
  HWY_INLINE void Advance(std::size_t count) { a_ += count * stride_; }

 private:
  const float* a_;
  std::size_t stride_;
};

// tile += column `k` of the rows of A times one row of the panel.
template <std::size_t kRows, std::size_t kVectors, class Rows>
HWY_INLINE void MultiplyOne(const Rows& a, std::size_t k, const float* panel,
                            Tile<kRows, kVectors>& tile) {
  const Floats d;
  Vector b[kVectors];
  HWY_UNROLL(4)
  for (std::size_t j = 0; j < kVectors; ++j) b[j] = hn::Load(d, panel + j * kLanes);
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kRows; ++i) {
    const Vector value = hn::Set(d, a.At(i, k));
    HWY_UNROLL(4)
    for (std::size_t j = 0; j < kVectors; ++j) tile[i][j] = hn::MulAdd(value, b[j], tile[i][j]);
  }
}

#if HWY_TARGET == HWY_NEON
// A broadcast from memory occupies a multiplier's pipe on ARM's cores, so that rows are
// loaded four values at a time, and multiplied by lane.
template <int kLane, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyLane(const Vector (&a)[kRows], const float* panel,
                             Tile<kRows, kVectors>& tile) {
  const Floats d;
  Vector b[kVectors];
  HWY_UNROLL(4)
  for (std::size_t j = 0; j < kVectors; ++j) {
    b[j] = hn::Load(d, panel + kLane * kPanelColumns + j * kLanes);
  }
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (std::size_t j = 0; j < kVectors; ++j) {
      tile[i][j] = hn::MulAdd(hn::Broadcast<kLane>(a[i]), b[j], tile[i][j]);
    }
  }
}

template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyStep(const RowPointers<kRows>& a, const float* panel,
                             Tile<kRows, kVectors>& tile) {
  const Floats d;
  Vector values[kRows];
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kRows; ++i) values[i] = hn::LoadU(d, a[i]);
  MultiplyLane<0>(values, panel, tile);
  MultiplyLane<1>(values, panel, tile);
  MultiplyLane<2>(values, panel, tile);
  MultiplyLane<3>(values, panel, tile);
}

// Row kRow of the tile += its value in a column of a panel of A, of which `low` holds the first
// four and `high` the last four.
template <std::size_t kRow, std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyRow(Vector low, Vector high, const Vector (&b)[kVectors],
                            Tile<kRows, kVectors>& tile) {
  constexpr int kLane = static_cast<int>(kRow < 4 ? kRow : kRow - (kTileRows - 4));
  const Vector value = hn::Broadcast<kLane>(kRow < 4 ? low : high);
  HWY_UNROLL(4)
  for (std::size_t j = 0; j < kVectors; ++j) tile[kRow][j] = hn::MulAdd(value, b[j], tile[kRow][j]);
}

template <std::size_t kRows, std::size_t kVectors, std::size_t... kRow>
HWY_INLINE void MultiplyColumn(const float* a, const float* panel, Tile<kRows, kVectors>& tile,
                               std::index_sequence<kRow...>) {
  const Floats d;
  Vector b[kVectors];
  HWY_UNROLL(4)
  for (std::size_t j = 0; j < kVectors; ++j) b[j] = hn::Load(d, panel + j * kLanes);
  const Vector low = hn::LoadU(d, a);
  const Vector high = hn::LoadU(d, a + kTileRows - 4);
  (MultiplyRow<kRow>(low, high, b, tile), ...);
}

template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyStep(const PanelRows& a, const float* panel, Tile<kRows, kVectors>& tile) {
  HWY_UNROLL(4)
  for (std::size_t k = 0; k < kStep; ++k) {
    MultiplyColumn<kRows, kVectors>(a.Column(k), panel + k * kPanelColumns, tile,
                                    std::make_index_sequence<kRows>());
  }
}
#else
template <std::size_t kRows, std::size_t kVectors, class Rows>
HWY_INLINE void MultiplyStep(const Rows& a, const float* panel, Tile<kRows, kVectors>& tile) {
  HWY_UNROLL(4)
  for (std::size_t k = 0; k < Rows::kStepSize; ++k) {
    MultiplyOne<kRows, kVectors>(a, k, panel + k * kPanelColumns, tile);
  }
}
#endif

template <std::size_t kRows, std::size_t kVectors, class Function>
HWY_INLINE void ForEach(Tile<kRows, kVectors>& tile, const Function& function) {
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (std::size_t j = 0; j < kVectors; ++j) tile[i][j] = function(tile[i][j], i, j);
  }
}

template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void StoreTile(const TileEnd& end, Tile<kRows, kVectors>& tile, float* c,
                          std::size_t c_stride) {
  const Floats d;
  const auto at = [=](std::size_t i, std::size_t j)
                      HWY_ATTR { return c + i * c_stride + j * kLanes; };
  if (end.add_c) {
    const Vector beta = hn::Set(d, end.beta);
    ForEach<kRows, kVectors>(tile, [&](Vector sum, std::size_t i, std::size_t j) HWY_ATTR {
      return hn::Add(hn::Mul(hn::LoadU(d, at(i, j)), beta), sum);
    });
  }
  if (end.row_bias != nullptr) {
    ForEach<kRows, kVectors>(tile, [&](Vector sum, std::size_t i, std::size_t) HWY_ATTR {
      return hn::Add(sum, hn::Set(d, end.row_bias[i]));
    });
  }
  if (end.column_bias != nullptr) {
    ForEach<kRows, kVectors>(tile, [&](Vector sum, std::size_t, std::size_t j) HWY_ATTR {
      return hn::Add(sum, hn::LoadU(d, end.column_bias + j * kLanes));
    });
  }
  if (end.relu) {
    ForEach<kRows, kVectors>(tile, [&](Vector sum, std::size_t, std::size_t) HWY_ATTR {
      return hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(d)), sum);
    });
  }
  ForEach<kRows, kVectors>(tile, [&](Vector sum, std::size_t i, std::size_t j) HWY_ATTR {
    hn::StoreU(sum, d, at(i, j));
    return sum;
  });
}

using TileFunction = void(std::size_t depth, const float* a, std::size_t a_stride,
                          const float* panel, const TileEnd& end, float* c, std::size_t c_stride);

// Nothing is prefetched: the hardware follows the rows of A and the panels by itself, and
// prefetching C, the next rows of A or the next block of B was tried and cost more in
// line-fill buffers than it hid (a tenth of the time at k = 64, nothing gained elsewhere).
template <std::size_t kRows, std::size_t kVectors, class Rows>
void MultiplyTile(std::size_t depth, const float* a, std::size_t a_stride, const float* panel,
                  const TileEnd& end, float* c, std::size_t c_stride) {
  const Floats d;
  Tile<kRows, kVectors> tile;
  ForEach<kRows, kVectors>(tile,
                           [=](Vector, std::size_t, std::size_t) HWY_ATTR { return hn::Zero(d); });
  Rows rows(a, a_stride);
  constexpr std::size_t kAtOnce = Rows::kStepSize;
  for (; depth >= kAtOnce; depth -= kAtOnce) {
    MultiplyStep<kRows, kVectors>(rows, panel, tile);
    rows.Advance(kAtOnce);
    panel += kAtOnce * kPanelColumns;
  }
  for (; depth > 0; --depth) {
    MultiplyOne<kRows, kVectors>(rows, 0, panel, tile);
    rows.Advance(1);
    panel += kPanelColumns;
  }
  StoreTile<kRows, kVectors>(end, tile, c, c_stride);
}

using TileHeights = std::array<TileFunction*, kTileRows>;

template <std::size_t kVectors, bool kPanels, std::size_t... kRow>
constexpr TileHeights MakeTileHeights(std::index_sequence<kRow...>) {
  return {&MultiplyTile<kRow + 1, kVectors,
                        std::conditional_t<kPanels, PanelRows, RowPointers<kRow + 1>>>...};
}
template <bool kPanels, std::size_t... kVector>
constexpr std::array<TileHeights, kTileVectors> MakeTiles(std::index_sequence<kVector...>) {
  return {MakeTileHeights<kVector + 1, kPanels>(std::make_index_sequence<kTileRows>())...};
}

// kTiles[vectors - 1][rows - 1]: every size there is, so that a remainder costs what it holds.
inline constexpr std::array<TileHeights, kTileVectors> kTiles =
    MakeTiles<false>(std::make_index_sequence<kTileVectors>());
// The same for A in panels.
inline constexpr std::array<TileHeights, kTileVectors> kPanelTiles =
    MakeTiles<true>(std::make_index_sequence<kTileVectors>());

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
