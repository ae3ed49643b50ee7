// Quantised weights made by tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kernels/float16.h"
#include "tensor/dtype.h"

namespace shoal::kernels {

inline constexpr DType kPackedTypes[] = {
    DType::kQ4_0,    DType::kQ4_1,   DType::kQ5_0,  DType::kQ5_1,    DType::kQ8_0,   DType::kQ2_K,
    DType::kQ3_K,    DType::kQ4_K,   DType::kQ5_K,  DType::kQ6_K,    DType::kIQ4_NL, DType::kIQ4_XS,
    DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S, DType::kIQ3_XXS, DType::kIQ3_S};

// Where the F16 numbers of a block are; -1 for none.
inline std::pair<int, int> HalvesOf(DType dtype) {
  switch (dtype) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108, -1};
    case DType::kQ6_K:
      return {208, -1};
    default:
      return {0, -1};
  }
}

// Any bits but for the F16 numbers, which are ordinary ones.
inline std::vector<std::byte> RandomBlocks(DType dtype, std::size_t elements, std::uint64_t seed) {
  const DTypeInfo& info = Info(dtype);
  std::vector<std::byte> bytes(elements / info.block_elements * info.block_bytes);
  Random random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Bits());
  const auto [first, second] = HalvesOf(dtype);
  for (std::size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    for (const int offset : {first, second}) {
      if (offset < 0) continue;
      const float value = 0.01F + 0.001F * static_cast<float>(random.Bits() % 100);
      const std::uint16_t bits = F16FromFloat(value);
      std::memcpy(bytes.data() + at + offset, &bits, sizeof bits);
    }
  }
  return bytes;
}

// Random blocks of Q4_1 with a zero of 0 to 16 where the type has an offset, for MakeWithZeros.
inline std::vector<std::byte> RandomBlocksWithZeros(std::size_t elements, std::uint64_t seed) {
  std::vector<std::byte> bytes = RandomBlocks(DType::kQ4_1, elements, seed);
  Random random(seed + 1);
  for (std::size_t at = 2; at < bytes.size(); at += Info(DType::kQ4_1).block_bytes) {
    const std::uint16_t zero = F16FromFloat(static_cast<float>(random.Bits() % 17));
    std::memcpy(bytes.data() + at, &zero, sizeof zero);
  }
  return bytes;
}

}  // namespace shoal::kernels
