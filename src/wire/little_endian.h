// Integers as bytes on the wire: least significant byte first, whatever the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal::wire {

// Writes the low `out.size()` bytes of `value`. REQUIRES: out.size() <= 8.
constexpr void StoreLittleEndian(std::uint64_t value, std::span<std::byte> out) {
  for (std::byte& byte : out) {
    byte = static_cast<std::byte>(value & 0xffU);
    value >>= 8U;
  }
}

// Reads as many bytes as `in` has. REQUIRES: in.size() <= 8.
constexpr std::uint64_t LoadLittleEndian(std::span<const std::byte> in) {
  std::uint64_t value = 0;
  for (std::size_t i = in.size(); i > 0; --i) {
    value = (value << 8U) | std::to_integer<std::uint64_t>(in[i - 1]);
  }
  return value;
}

}  // namespace shoal::wire
