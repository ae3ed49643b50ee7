#include "wire/row_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace shoal::wire {
namespace {

std::string Hex(const Blake2s& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : hash) {
    const auto value = std::to_integer<unsigned>(b);
    text += {kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return text;
}

std::vector<std::byte> Counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

// By python3's hashlib.blake2s; the second is RFC 7693's own example.
TEST(RowHash, IsBlake2s) {
  EXPECT_EQ(Hex(HashBytes({})), "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9");
  const std::string_view abc = "abc";
  EXPECT_EQ(Hex(HashBytes(std::as_bytes(std::span(abc)))),
            "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
  EXPECT_EQ(Hex(HashBytes(Counting(64))),
            "56f34e8b96557e90c1f24b52d0c89d51086acf1b00f634cf1dde9233b8eaaa3e");
  EXPECT_EQ(Hex(HashBytes(Counting(65))),
            "1b53ee94aaf34e4b159d48de352c7f0661d0a40edff95a0b1639b4090e974472");
  EXPECT_EQ(Hex(HashBytes(Counting(1000))),
            "1c067a5e746fb0f6734efac9a8cdb0e11061f0077f255184365c690115392501");
}

TEST(RowHash, HashesRowByRow) {
  const std::vector<std::uint16_t> rows = {28403, 56806, 19674, 48077, 10944, 39348, 2215, 30619};
  EXPECT_EQ(RowHashes(rows, 4),
            (std::vector<std::uint64_t>{2786553189724753532U, 658811669789528939U}));
  EXPECT_TRUE(RowHashes({}, 4).empty());
}

}  // namespace
}  // namespace shoal::wire
