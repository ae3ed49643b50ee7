#include "os/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace shoal::os {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Sha256Test, KnowsThePublishedVectors) {
  Sha256 hash;
  hash.Update(BytesOf("a"));
  hash.Update({});
  hash.Update(BytesOf("bc"));
  EXPECT_EQ(hash.Finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Begins again.
  EXPECT_EQ(hash.Finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256Test, TellsAHashFromOtherText) {
  EXPECT_TRUE(IsSha256("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  EXPECT_FALSE(IsSha256(""));
  EXPECT_FALSE(IsSha256("ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
  EXPECT_FALSE(IsSha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0"));
}

}  // namespace
}  // namespace shoal::os
