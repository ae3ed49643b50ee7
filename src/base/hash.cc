#include "base/hash.h"

namespace shoal {

void Fingerprint::AddBytes(std::span<const std::byte> bytes) {
  constexpr std::size_t kWordBytes = 8;
  Add(bytes.size());
  // Little-endian by construction, whatever the host is. Whole words apart from the rest,
  // because compilers turn eight shifted bytes into one load only when they count to eight.
  std::size_t i = 0;
  for (; i + kWordBytes <= bytes.size(); i += kWordBytes) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < kWordBytes; ++k) {
      word |= std::to_integer<std::uint64_t>(bytes[i + k]) << (8 * k);
    }
    Add(word);
  }
  if (i == bytes.size()) return;
  std::uint64_t rest = 0;
  for (std::size_t k = 0; i + k < bytes.size(); ++k) {
    rest |= std::to_integer<std::uint64_t>(bytes[i + k]) << (8 * k);
  }
  Add(rest);
}

std::uint64_t Fingerprint::value() const { return Avalanche(state_); }

}  // namespace shoal
