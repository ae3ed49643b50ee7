// Random numbers as a dependency, the same on every platform: the generator and
// every distribution are ours, made of integer operations and of IEEE basic
// operations only (std:: distributions and libm differ between libraries).
#pragma once

#include <array>
#include <cstdint>

namespace shoal {

// xoshiro256**: 2^256 - 1 long, passes BigCrush, 32 bytes of state.
// Copying copies the state: both copies then give the same numbers.
class Random {
 public:
  // Streams of one seed are independent: Random(seed, position) gives the numbers
  // that belong to a position whatever was drawn before it.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t Bits();

  // Uniform in [0, 1), a multiple of 2^-53.
  double Unit();
  // Uniform in [0, bound), without bias. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound);
  // Uniform in [low, high]. REQUIRES: low <= high.
  std::int64_t Between(std::int64_t low, std::int64_t high);
  // True with probability p; p <= 0 never, p >= 1 always. Draws one number either way.
  bool Chance(double p);
  // Exponential with the given mean.
  double Exponential(double mean);
  // Standard normal.
  double Normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

// Natural logarithm from basic operations, within 2 units in the last place.
// REQUIRES: x is positive, finite and normal.
double PortableLog(double x);

}  // namespace shoal
