#include "base/hash.h"

#include <algorithm>

namespace shoal {

void Fingerprint::AddBytes(std::span<const std::byte> bytes) {
  Add(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;  // Little-endian by construction, whatever the host is.
    const std::size_t n = std::min<std::size_t>(8, bytes.size() - i);
    for (std::size_t k = 0; k < n; ++k) {
      word |= std::to_integer<std::uint64_t>(bytes[i + k]) << (8 * k);
    }
    Add(word);
  }
}

std::uint64_t Fingerprint::value() const { return Avalanche(state_); }

}  // namespace shoal
