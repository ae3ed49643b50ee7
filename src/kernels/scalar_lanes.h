// The operations that math-inl.h is written in, for one number at a time: the meaning of the
// arithmetic in plain C++. lanes-inl.h has the same operations for Highway's vectors.
//
// Every operation is one that IEEE 754 or unsigned arithmetic defines to the last bit: + - * / by
// the operators, fused multiply-add, comparisons (false for NaN, -0 == +0), conversion to double
// (exact) and back (to nearest, ties to even).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace shoal::kernels {

template <class Float, class Unsigned>
struct ScalarLanes {
  using T = Float;     // One number,
  using F = Float;     // the numbers worked on together,
  using U = Unsigned;  // their bits,
  using M = bool;      // and a condition on each.

  static F Set(T value) { return value; }
  static U SetU(Unsigned bits) { return bits; }
  static U Bits(F value) { return std::bit_cast<U>(value); }
  static F FromBits(U bits) { return std::bit_cast<F>(bits); }

  static F Fma(F a, F b, F c) { return std::fma(a, b, c); }  // a * b + c, rounded once.

  static F Select(M condition, F yes, F no) { return condition ? yes : no; }
  static M IsNaN(F value) { return value != value; }
  static M IsZero(U bits) { return bits == 0; }
  static M And(M a, M b) { return a && b; }
  static M Or(M a, M b) { return a || b; }
  static M Not(M a) { return !a; }

  template <int kBy>
  static U Shl(U bits) {
    return bits << kBy;
  }
  template <int kBy>
  static U Shr(U bits) {
    return bits >> kBy;
  }
};

using ScalarF64 = ScalarLanes<double, std::uint64_t>;

struct ScalarF32 : ScalarLanes<float, std::uint32_t> {
  // Function::Run on the values as doubles, rounded to float at the end.
  template <class Function, class... Values>
  static float InF64(Values... values) {
    return static_cast<float>(Function::template Run<ScalarF64>(static_cast<double>(values)...));
  }
};

}  // namespace shoal::kernels
