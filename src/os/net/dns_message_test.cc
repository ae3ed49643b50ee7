#include "os/net/dns_message.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace shoal::os {
namespace {

using namespace std::string_literals;

constexpr std::uint16_t kId = 0x1234;
const DnsQuestion kQuestion{.id = kId, .name = "Ab.co", .type = DnsType::kA};

std::vector<std::byte> BytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

// At 12: the name ab.co.
const std::string kAsked = "\2ab\2co\0\0\1\0\1"s;

std::string Message(const std::string& flags, char answers, const std::string& rest) {
  return "\x12\x34"s + flags + "\0\1\0"s + answers + "\0\0\0\0"s + rest;
}
std::string Answer(char answers, const std::string& records) {
  return Message("\x81\x80", answers, kAsked + records);
}
std::string Address(const std::string& name, const std::string& bytes) {
  return name + "\0\1\0\1\0\0\0\5\0"s + static_cast<char>(bytes.size()) + bytes;
}
std::string Alias(const std::string& name, const std::string& to) {
  return name + "\0\5\0\1\0\0\0\5\0"s + static_cast<char>(to.size()) + to;
}
const std::string kSame = "\xc0\x0c";  // A pointer to the question's name.

Result<std::vector<DnsAddress>> Parse(const std::string& message) {
  return ParseDnsAnswer(BytesOf(message), kQuestion);
}
DnsAddress Ip(std::uint8_t last) { return {.v6 = false, .bytes = {10, 0, 0, last}}; }

TEST(DnsMessageTest, AsksAsTheStandardSays) {
  EXPECT_EQ(*EncodeDnsQuery({.id = kId, .name = "ab.co", .type = DnsType::kA}),
            BytesOf("\x12\x34\x01\0\0\1\0\0\0\0\0\0"s + kAsked));
  EXPECT_EQ(*EncodeDnsQuery({.id = kId, .name = "ab.co.", .type = DnsType::kAaaa}),
            BytesOf("\x12\x34\x01\0\0\1\0\0\0\0\0\0\2ab\2co\0\0\x1c\0\1"s));
}

TEST(DnsMessageTest, AsksOnlyForNames) {
  for (const std::string& name :
       {""s, "."s, ".co"s, "a..co"s, "a.."s, std::string(64, 'a') + ".co", std::string(300, 'a')}) {
    EXPECT_FALSE(EncodeDnsQuery({.id = 1, .name = name}).ok()) << name;
  }
  std::string longest;
  for (int i = 0; i < 126; ++i) longest += "a.";
  EXPECT_TRUE(EncodeDnsQuery({.id = 1, .name = longest + "a"}).ok());
  EXPECT_LE(EncodeDnsQuery({.id = 1, .name = longest + "a"})->size(), kDnsBytesMax);
}

TEST(DnsMessageTest, FindsAddresses) {
  const auto found =
      Parse(Answer(2, Address(kSame, "\x0a\0\0\1"s) + Address("\2AB\xc0\x0f", "\x0a\0\0\2"s)));
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector{Ip(1), Ip(2)}));
  EXPECT_TRUE(Parse(Answer(0, ""))->empty());
}

TEST(DnsMessageTest, FindsLongAddresses) {
  DnsQuestion question = kQuestion;
  question.type = DnsType::kAaaa;
  const std::string bytes = "\x20\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\7"s;
  const auto found = ParseDnsAnswer(
      BytesOf(
          "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\2ab\2co\0\0\x1c\0\1\xc0\x0c\0\x1c\0\1\0\0\0\5\0\x10"s +
          bytes),
      question);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().v6);
  EXPECT_EQ(found->front().bytes[15], 7);
}

TEST(DnsMessageTest, FollowsAliasesInAnyOrder) {
  const std::string x = "\1x\2yz\0"s;
  EXPECT_EQ(*Parse(Answer(2, Alias(kSame, x) + Address(x, "\x0a\0\0\3"s))), std::vector{Ip(3)});
  EXPECT_EQ(*Parse(Answer(2, Address(x, "\x0a\0\0\3"s) + Alias(kSame, x))), std::vector{Ip(3)});
  // An alias of itself, and one that leads nowhere.
  EXPECT_TRUE(Parse(Answer(1, Alias(kSame, kSame)))->empty());
  EXPECT_TRUE(Parse(Answer(1, Alias(kSame, x)))->empty());
}

TEST(DnsMessageTest, IgnoresWhatWasNotAsked) {
  EXPECT_TRUE(Parse(Answer(1, Address("\4evil\0"s, "\x0a\0\0\4"s)))->empty());
  EXPECT_TRUE(Parse(Answer(1, Address(kSame, "\x0a\0\0"s)))->empty());  // Three bytes.
  const std::string text = kSame + "\0\x10\0\1\0\0\0\5\0\2\1x"s;
  EXPECT_EQ(*Parse(Answer(2, text + Address(kSame, "\x0a\0\0\5"s))), std::vector{Ip(5)});
  const std::string chaos = kSame + "\0\1\0\3\0\0\0\5\0\4\x0a\0\0\6"s;
  EXPECT_TRUE(Parse(Answer(1, chaos))->empty());
}

TEST(DnsMessageTest, TellsFailuresApart) {
  EXPECT_EQ(Parse(Message("\x81\x83", 0, kAsked)).status().code(), Code::kNotFound);
  EXPECT_EQ(Parse(Message("\x81\x82", 0, kAsked)).status().code(), Code::kUnavailable);
  EXPECT_EQ(Parse(Message("\x81\x85", 0, kAsked)).status().code(), Code::kUnavailable);
}

TEST(DnsMessageTest, BelievesOnlyAnswersToItsQuestion) {
  const std::string good = Answer(1, Address(kSame, "\x0a\0\0\1"s));
  ASSERT_TRUE(Parse(good).ok());
  for (const std::size_t at : {0U, 1U, 2U, 5U, 13U, 19U, 20U, 22U}) {
    std::string bad = good;
    bad[at] = at == 2 ? '\x01' : static_cast<char>(bad[at] ^ 0x10);
    EXPECT_EQ(Parse(bad).status().code(), Code::kCorruption) << at;
  }
}

TEST(DnsMessageTest, EveryShorterMessageIsRefused) {
  const std::string good =
      Answer(2, Alias(kSame, "\1x\xc0\x0f") + Address("\1x\xc0\x0f", "\x0a\0\0\1"s));
  ASSERT_EQ(*Parse(good), std::vector{Ip(1)});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Parse(good.substr(0, size)).status().code(), Code::kCorruption) << size;
  }
  // Unless the server says that it had to cut.
  std::string cut = Answer(2, Address(kSame, "\x0a\0\0\7"s) + "\xc0");
  cut[2] = '\x83';
  EXPECT_EQ(*Parse(cut), std::vector{Ip(7)});
}

TEST(DnsMessageTest, PointersCannotLoop) {
  // To itself, forwards, beyond the end, and two that point at each other.
  for (const std::string& name : {"\xc0\x17"s, "\xc0\x30"s, "\xff\xff"s, "\1a\xc0\x17"s}) {
    EXPECT_EQ(Parse(Answer(1, Address(name, "\x0a\0\0\1"s))).status().code(), Code::kCorruption);
  }
  EXPECT_EQ(Parse(Message("\x81\x80", 0, "\xc0\x0c\0\1\0\1"s)).status().code(), Code::kCorruption);
  EXPECT_EQ(Parse(Answer(1, Address("\x80x\0"s, "\x0a\0\0\1"s))).status().code(),
            Code::kCorruption);
  // A name that would grow without end.
  std::string labels;
  for (int i = 0; i < 10; ++i) labels += "\x3f" + std::string(63, 'a');
  EXPECT_EQ(Parse(Answer(1, Address(labels + "\0"s, "\x0a\0\0\1"s))).status().code(),
            Code::kCorruption);
}

}  // namespace
}  // namespace shoal::os
