// Goal: blocks of quantised weights mean what their formats say, to the last bit
// (scripts/golden/make_quants.py decoded them from the layouts).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/dequantize.h"

namespace shoal::golden {
namespace {

std::vector<std::byte> FromHex(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

// FNV-1a over the little-endian bytes.
std::uint64_t Hash(const std::vector<float>& values) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffU)) * 0x100000001b3ULL;
    }
  }
  return hash;
}

TEST(QuantsGoldenTest, EveryTypeToTheLastBit) {
  std::ifstream file(SHOAL_GOLDEN "/quants.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::size_t quantised = 0;
  for (const DType dtype : AllDTypes()) quantised += IsQuantized(dtype) ? 1 : 0;
  EXPECT_EQ(golden["types"].size(), quantised);
  for (const auto& row : golden["types"]) {
    const auto dtype = ParseDType(row["type"].get<std::string>());
    ASSERT_TRUE(dtype.has_value()) << row["type"];
    const std::vector<std::byte> blocks = FromHex(row["blocks"]);
    std::vector<float> values(2 * Info(*dtype).block_elements);
    kernels::Dequantize(*dtype, blocks, values);
    const auto first = row["first"].get<std::vector<float>>();
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(values[i], first[i]) << *dtype << " element " << i;
    }
    EXPECT_EQ(Hash(values), std::stoull(row["fnv1a64"].get<std::string>(), nullptr, 16)) << *dtype;
  }
}

}  // namespace
}  // namespace shoal::golden
