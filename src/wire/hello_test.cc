#include "wire/hello.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::wire {
namespace {

constexpr Hello kHello{.role = Role::kBulk,
                       .verdict = Verdict::kBusy,
                       .from = NodeId{0x0102030405060708},
                       .to = NodeId{9},
                       .session = 0xfedcba9876543210};

// Decodes kHello with the byte at `at` replaced.
Result<Hello> DecodeWith(std::size_t at, int value) {
  HelloBytes bytes = EncodeHello(kHello);
  bytes[at] = static_cast<std::byte>(value);
  return DecodeHello(bytes);
}

TEST(Hello, DecodesWhatWasEncoded) {
  const Result<Hello> hello = DecodeHello(EncodeHello(kHello));
  ASSERT_TRUE(hello.ok()) << hello.status().ToString();
  EXPECT_EQ(*hello, kHello);
}

TEST(Hello, AnotherProtocolIsCorruption) {
  const Result<Hello> hello = DecodeWith(0, 'G');
  ASSERT_FALSE(hello.ok());
  EXPECT_EQ(hello.status().code(), Code::kCorruption);
  EXPECT_NE(hello.status().message().find("magic"), std::string::npos);
}

TEST(Hello, AnotherVersionNamesBoth) {
  const Result<Hello> hello = DecodeWith(4, 7);
  ASSERT_FALSE(hello.ok());
  EXPECT_EQ(hello.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(hello.status().message(), "hello: peer speaks protocol version 7, this node speaks 1");
}

TEST(Hello, UnknownRoleAndVerdictAreCorruption) {
  EXPECT_EQ(DecodeWith(6, 2).status().code(), Code::kCorruption);
  EXPECT_EQ(DecodeWith(7, 7).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::wire
