// QuantMatMul's tile, written once for all instruction sets. Isa supplies eight lanes of integers
// (I) and floats (F) and the sums of products that instruction sets do differently; all of it is
// exact, and the few float operations are those of quant_matmul.h, in its order.
#if defined(SHOAL_KERNELS_QUANT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_QUANT_TILE_INL_H
#undef SHOAL_KERNELS_QUANT_TILE_INL_H
#else
#define SHOAL_KERNELS_QUANT_TILE_INL_H
#endif

#include <hwy/cache_control.h>

#include "kernels/quant_tile.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

template <class Isa, PackedForm kForm, int kColumns>
struct QuantTileOf {
  using F = typename Isa::F;
  using I = typename Isa::I;

  static HWY_NOINLINE void Run(const QuantTile& tile) {
    constexpr PackedLayout layout = LayoutOf(kForm);
    F y[kColumns];
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) y[c] = Isa::ZeroF();
    const std::uint8_t* chunk = tile.w;
    for (std::size_t b = 0; b < tile.chunks; ++b, chunk += layout.bytes()) {
      if constexpr (layout.block == 32) {
        AddBlock32(tile, b, chunk, layout, y);
      } else {
        AddBlock256(tile, b, chunk, layout, y);
      }
    }
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) Isa::StoreCanonical(y[c], tile.y[c]);
  }

 private:
  // Weights are read once, front to back, and yet one thread got 17 GB/s from memory (9 where a
  // form is read in two places at once) of the 25 that it gets when it is told what comes.
  static HWY_INLINE void PrefetchAhead(const std::uint8_t* from, std::size_t bytes) {
    constexpr std::size_t kAhead = 2048;
    if constexpr (kColumns > 1) return;  // The weights of a group stay in the cache.
    HWY_UNROLL(1)
    for (std::size_t at = 0; at < bytes; at += 64) hwy::Prefetch(from + kAhead + at);
  }

  static HWY_INLINE void AddBlock32(const QuantTile& tile, std::size_t b, const std::uint8_t* chunk,
                                    const PackedLayout& layout, F* y) {
    PrefetchAhead(chunk, layout.bytes());
    const std::int8_t* q[kColumns];
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) q[c] = tile.q[c] + 32 * b;
    I sums[kColumns];
    if constexpr (kForm == PackedForm::kU4x32 || kForm == PackedForm::kU4x32Offset ||
                  kForm == PackedForm::kU4x32Zero) {
      Isa::template SumU4<kColumns>(chunk + layout.low(), q, sums);
    } else {
      Isa::template SumI8<kColumns>(chunk + layout.low(), q, sums);
    }
    const F d = Isa::LoadF16(chunk);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      const F scale = Isa::SetF(tile.scales[c][b]);
      if constexpr (kForm == PackedForm::kU4x32) {
        sums[c] = Isa::Sub(sums[c], Isa::SetI(8 * tile.sums[c][b]));
      }
      F sum = Isa::Float(sums[c]);
      if constexpr (kForm == PackedForm::kU4x32Zero) {
        // Integers below 2^24 all the way: exact.
        const F zero = Isa::LoadF16(chunk + 2 * kPackedRows);
        sum = Isa::NegativeFma(Isa::Float(Isa::SetI(tile.sums[c][b])), zero, sum);
      }
      y[c] = Isa::Fma(sum, Isa::Mul(d, scale), y[c]);
      if constexpr (kForm == PackedForm::kU4x32Offset || kForm == PackedForm::kI8x32Offset) {
        const F offset = Isa::LoadF16(chunk + 2 * kPackedRows);
        const F total = Isa::Float(Isa::SetI(tile.sums[c][b]));
        y[c] = Isa::Fma(total, Isa::Mul(offset, scale), y[c]);
      }
    }
  }

  static HWY_INLINE void AddBlock256(const QuantTile& tile, std::size_t b,
                                     const std::uint8_t* chunk, const PackedLayout& layout, F* y) {
    constexpr std::size_t kPairBytes = 2 * kPackedRows;
    I sums[kColumns];
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) sums[c] = Isa::ZeroI();
    HWY_UNROLL(1)
    for (std::size_t p = 0; p < layout.scale_pairs; ++p) {
      PrefetchAhead(chunk + p * (layout.bytes() / layout.scale_pairs),
                    layout.bytes() / layout.scale_pairs);
      const std::uint8_t* scales = chunk + layout.scales() + p * kPairBytes;
      const std::size_t k = 256 / layout.scale_pairs * p;
      const std::int8_t* q[kColumns];
      HWY_UNROLL(8)
      for (int c = 0; c < kColumns; ++c) q[c] = tile.q[c] + 256 * b + k;
      if constexpr (kForm == PackedForm::kU4x256) {
        Isa::template AddU4<kColumns>(chunk + layout.low() + 4 * k, scales, q, sums);
      } else if constexpr (kForm == PackedForm::kU6x256) {
        Isa::template AddU6<kColumns>(chunk + layout.low() + 4 * k, chunk + layout.high() + 2 * k,
                                      scales, q, sums);
      } else {
        Isa::template AddI8<kColumns>(chunk + layout.low() + 8 * k, scales, q, sums);
      }
    }
    const F d = Isa::LoadF16(chunk);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      const std::int16_t* totals = tile.sums[c] + 16 * b;
      const F scale = Isa::SetF(tile.scales[c][b]);
      if constexpr (kForm == PackedForm::kU6x256) {
        I zeros = Isa::ZeroI();
        HWY_UNROLL(8)
        for (std::size_t p = 0; p < 8; ++p) {
          const std::uint8_t* scales = chunk + layout.scales() + p * kPairBytes;
          zeros = Isa::AddPairs(zeros, scales, totals[2 * p], totals[2 * p + 1]);
        }
        sums[c] = Isa::Sub(sums[c], Isa::template ShiftLeft<5>(zeros));
      }
      y[c] = Isa::Fma(Isa::Float(sums[c]), Isa::Mul(d, scale), y[c]);
      if constexpr (kForm == PackedForm::kU4x256 || kForm == PackedForm::kI8x256Minima) {
        I minima = Isa::ZeroI();
        HWY_UNROLL(8)
        for (std::size_t p = 0; p < layout.minimum_pairs; ++p) {
          const std::uint8_t* pairs = chunk + layout.minima() + p * kPairBytes;
          // For sub-blocks of 32, two sums of 16 make one.
          const int first =
              layout.minimum_pairs == 4 ? totals[4 * p] + totals[4 * p + 1] : totals[2 * p];
          const int second =
              layout.minimum_pairs == 4 ? totals[4 * p + 2] + totals[4 * p + 3] : totals[2 * p + 1];
          minima = Isa::AddPairs(minima, pairs, first, second);
        }
        const F minimum = Isa::LoadF16(chunk + 2 * kPackedRows);
        y[c] = Isa::NegativeFma(Isa::Float(minima), Isa::Mul(minimum, scale), y[c]);
      }
    }
  }
};

template <class Isa, PackedForm kForm>
HWY_INLINE void RunQuantColumns(const QuantTile& tile) {
  switch (tile.columns) {
    case 1:
      return QuantTileOf<Isa, kForm, 1>::Run(tile);
    case 2:
      return QuantTileOf<Isa, kForm, 2>::Run(tile);
    case 3:
      return QuantTileOf<Isa, kForm, 3>::Run(tile);
    default:
      return QuantTileOf<Isa, kForm, 4>::Run(tile);
  }
}

template <class Isa>
void RunQuantTile(PackedForm form, const QuantTile& tile) {
  switch (form) {
    case PackedForm::kU4x32:
      return RunQuantColumns<Isa, PackedForm::kU4x32>(tile);
    case PackedForm::kU4x32Offset:
      return RunQuantColumns<Isa, PackedForm::kU4x32Offset>(tile);
    case PackedForm::kU4x32Zero:
      return RunQuantColumns<Isa, PackedForm::kU4x32Zero>(tile);
    case PackedForm::kI8x32:
      return RunQuantColumns<Isa, PackedForm::kI8x32>(tile);
    case PackedForm::kI8x32Offset:
      return RunQuantColumns<Isa, PackedForm::kI8x32Offset>(tile);
    case PackedForm::kU4x256:
      return RunQuantColumns<Isa, PackedForm::kU4x256>(tile);
    case PackedForm::kU6x256:
      return RunQuantColumns<Isa, PackedForm::kU6x256>(tile);
    case PackedForm::kI8x256:
      return RunQuantColumns<Isa, PackedForm::kI8x256>(tile);
    case PackedForm::kI8x256Minima:
      return RunQuantColumns<Isa, PackedForm::kI8x256Minima>(tile);
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
