#include "train/cluster/record_bits.h"

#include <algorithm>

namespace shoal::train {

std::string WriteRecordBits(std::span<const std::int64_t> indices) {
  std::string bits;
  for (const std::int64_t index : indices) {
    if (index >= kRecordBitsMax) break;
    const auto byte = static_cast<std::size_t>(index / 8);
    if (byte >= bits.size()) bits.resize(byte + 1);
    bits[byte] = static_cast<char>(static_cast<unsigned char>(bits[byte]) | 1U << index % 8);
  }
  return bits;
}

std::vector<std::int64_t> ReadRecordBits(std::string_view bits) {
  std::vector<std::int64_t> indices;
  const auto count = std::min(static_cast<std::int64_t>(8 * bits.size()), kRecordBitsMax);
  for (std::int64_t index = 0; index < count; ++index) {
    const auto byte = static_cast<unsigned char>(bits[static_cast<std::size_t>(index / 8)]);
    if ((byte >> index % 8 & 1U) != 0) indices.push_back(index);
  }
  return indices;
}

}  // namespace shoal::train
