// Fingerprint: a 64-bit hash for traces and test vectors, the same on every
// platform. Not cryptographic: weights and identities use SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal {

// FNV-1a over 64-bit words with a final avalanche. Order matters.
class Fingerprint {
 public:
  void Add(std::uint64_t word) { state_ = (state_ ^ word) * kPrime; }
  // Adds the length too, so that ("ab", "c") differs from ("a", "bc").
  void AddBytes(std::span<const std::byte> bytes);

  std::uint64_t value() const;

 private:
  static constexpr std::uint64_t kPrime = 1099511628211ULL;  // 2^40 + 2^8 + 0xb3
  static constexpr std::uint64_t kOffsetBasis = 14695981039346656037ULL;
  std::uint64_t state_ = kOffsetBasis;
};

// The finaliser of splitmix64: a bijection that flips half of the bits on average.
constexpr std::uint64_t Avalanche(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace shoal
