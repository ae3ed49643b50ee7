#include "kernels/dot_i8_arm.h"

#include <arm_neon.h>

// Only functions marked so may use the instructions; the rest of the program runs on every 64-bit
// ARM. The instructions are written as assembly because clang's arm_neon.h hides their intrinsics
// unless the whole file is compiled for them.
#ifdef __clang__
#define SHOAL_DOTPROD __attribute__((target("dotprod")))
#define SHOAL_I8MM __attribute__((target("i8mm")))
#else
#define SHOAL_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#define SHOAL_I8MM __attribute__((target("arch=armv8.2-a+i8mm")))
#endif

namespace shoal::kernels {
namespace {

// sum[i] += the dot product of the four bytes i of a and b.
SHOAL_DOTPROD inline int32x4_t Sdot(int32x4_t sum, int8x16_t a, int8x16_t b) {
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}

// sum[2 r + c] += the dot product of the eight bytes r of a and the eight bytes c of b.
SHOAL_I8MM inline int32x4_t Smmla(int32x4_t sum, int8x16_t a, int8x16_t b) {
  __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}

// Four rows by two columns: eight sums under way hide the instruction's latency of 3 to 4 cycles
// on cores that start two a cycle, and each load serves two or four of them.
template <std::size_t kRows, std::size_t kColumns>
SHOAL_DOTPROD void DotprodTile(const std::int8_t* w, const std::int8_t* x, std::size_t k,
                               std::int32_t* y, std::size_t y_stride) {
  int32x4_t sums[kRows][kColumns];
  for (auto& row : sums) {
    for (int32x4_t& sum : row) sum = vdupq_n_s32(0);
  }
  std::size_t i = 0;
  for (; i + 16 <= k; i += 16) {
    int8x16_t columns[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) columns[c] = vld1q_s8(x + c * k + i);
    for (std::size_t r = 0; r < kRows; ++r) {
      const int8x16_t row = vld1q_s8(w + r * k + i);
      for (std::size_t c = 0; c < kColumns; ++c) sums[r][c] = Sdot(sums[r][c], row, columns[c]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      y[c * y_stride + r] = vaddvq_s32(sums[r][c]) + DotI8Rest(w + r * k, x + c * k, i, k);
    }
  }
}

// Sixteen bytes of two rows as the two operands of Smmla: the first eight of both, the last eight.
struct RowPair {
  int8x16_t low;
  int8x16_t high;
};

inline RowPair LoadPair(const std::int8_t* from, std::size_t k) {
  const int64x2_t a = vreinterpretq_s64_s8(vld1q_s8(from));
  const int64x2_t b = vreinterpretq_s64_s8(vld1q_s8(from + k));
  return {vreinterpretq_s8_s64(vzip1q_s64(a, b)), vreinterpretq_s8_s64(vzip2q_s64(a, b))};
}

// Four rows by four columns, as two by two pairs.
SHOAL_I8MM void I8mmTile(const std::int8_t* w, const std::int8_t* x, std::size_t k, std::int32_t* y,
                         std::size_t y_stride) {
  int32x4_t sums[2][2] = {{vdupq_n_s32(0), vdupq_n_s32(0)}, {vdupq_n_s32(0), vdupq_n_s32(0)}};
  std::size_t i = 0;
  for (; i + 16 <= k; i += 16) {
    const RowPair columns[2] = {LoadPair(x + i, k), LoadPair(x + 2 * k + i, k)};
    for (std::size_t r = 0; r < 2; ++r) {
      const RowPair rows = LoadPair(w + 2 * r * k + i, k);
      for (std::size_t c = 0; c < 2; ++c) {
        sums[r][c] = Smmla(sums[r][c], rows.low, columns[c].low);
        sums[r][c] = Smmla(sums[r][c], rows.high, columns[c].high);
      }
    }
  }
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      std::int32_t lanes[4];
      vst1q_s32(lanes, sums[r / 2][c / 2]);
      y[c * y_stride + r] = lanes[2 * (r % 2) + c % 2] + DotI8Rest(w + r * k, x + c * k, i, k);
    }
  }
}

}  // namespace

std::int32_t DotI8Dotprod(const std::int8_t* x, const std::int8_t* y, std::size_t k) {
  std::int32_t result = 0;
  DotprodTile<1, 1>(x, y, k, &result, 1);
  return result;
}

void MatMulI8Dotprod(const MatMulI8Args& args) {
  ForTiles<4, 2>(args, &DotprodTile<4, 2>, &DotprodTile<1, 1>);
}

void MatMulI8I8mm(const MatMulI8Args& args) { ForTiles<4, 4>(args, &I8mmTile, &DotprodTile<1, 1>); }

}  // namespace shoal::kernels
