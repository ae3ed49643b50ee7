#include "base/random.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/hash.h"

namespace shoal {

Random::Random(std::uint64_t seed, std::uint64_t stream) : state_() {
  // splitmix64 spreads the seed over the state, as the generator's authors advise; the
  // stream is mixed first so that (1, 2) and (2, 1) have nothing in common.
  std::uint64_t x = Avalanche(seed + 0x9e3779b97f4a7c15ULL) ^ Avalanche(~stream);
  for (std::uint64_t& word : state_) {
    x += 0x9e3779b97f4a7c15ULL;
    word = Avalanche(x);
  }
}

std::uint64_t Random::Bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Unit() { return static_cast<double>(Bits() >> 11U) * 0x1.0p-53; }

std::uint64_t Random::Below(std::uint64_t bound) {
  SHOAL_CHECK_GT(bound, 0U);
  // Numbers below 2^64 mod bound would make small results likelier: drawn again.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t bits = Bits();
    if (bits >= threshold) return bits % bound;
  }
}

std::int64_t Random::Between(std::int64_t low, std::int64_t high) {
  SHOAL_CHECK_LE(low, high);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t offset = span == ~std::uint64_t{0} ? Bits() : Below(span + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

bool Random::Chance(double p) { return Unit() < p; }

double Random::Exponential(double mean) { return -PortableLog(1.0 - Unit()) * mean; }

double Random::Normal() {
  // Marsaglia's polar method; the second number of the pair is dropped so that the
  // generator has no hidden state.
  for (;;) {
    const double u = 2.0 * Unit() - 1.0;
    const double v = 2.0 * Unit() - 1.0;
    const double s = u * u + v * v;
    if (s > 0.0 && s < 1.0) return u * std::sqrt(-2.0 * PortableLog(s) / s);
  }
}

double PortableLog(double x) {
  SHOAL_CHECK(std::isnormal(x) && x > 0.0);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(t), t = (m-1)/(m+1), |t| < 0.172.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  int e = static_cast<int>(bits >> 52U) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    e += 1;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double t2 = t * t;
  double series = 0.0;  // Sum of t2^k / (2k+1); 0.172^22 is below 2^-53.
  for (int k = 11; k >= 1; --k) series = (series + 1.0 / (2 * k + 1)) * t2;
  constexpr double kLn2 = 0.6931471805599453;
  return static_cast<double>(e) * kLn2 + 2.0 * (t + t * series);
}

}  // namespace shoal
