#include "os/machine/kernel_text.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace shoal::os {
namespace {

TEST(KernelTextTest, ParsesIntegers) {
  EXPECT_EQ(ParseInteger("42"), 42);
  EXPECT_EQ(ParseInteger(" -7\n"), -7);
  EXPECT_EQ(ParseInteger("0xd0b"), 0xd0b);
  EXPECT_EQ(ParseInteger("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", " ", "-", "0x", "4.2", "12 kB", "1 2", "abc", "9223372036854775808",
                           "0xffffffffffffffffff"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(KernelTextTest, ParsesFractions) {
  EXPECT_DOUBLE_EQ(*ParseFraction("0.31"), 0.31);
  EXPECT_DOUBLE_EQ(*ParseFraction("12.05"), 12.05);
  EXPECT_DOUBLE_EQ(*ParseFraction("7"), 7);
  for (const char* text : {"", ".", "1.", ".5", "-0.5", "1.-5", "1.2.3", "0.1234567890", "nan"}) {
    EXPECT_EQ(ParseFraction(text), std::nullopt) << text;
  }
}

TEST(KernelTextTest, ParsesCpuLists) {
  EXPECT_EQ(*ParseCpuList("0"), (std::vector<int>{0}));
  EXPECT_EQ(*ParseCpuList("0-3,6\n"), (std::vector<int>{0, 1, 2, 3, 6}));
  EXPECT_EQ(ParseCpuList("0-4095")->size(), 4096U);
  for (const char* text : {"", ",", "0-", "-1", "3-1", "0,0", "0-3,2", "a", "0-3;5", "4096",
                           "0-4000000000", "0-99999999999999999999"}) {
    EXPECT_EQ(ParseCpuList(text).status().code(), Code::kCorruption) << text;
  }
}

TEST(KernelTextTest, FindsFields) {
  const char* text =
      "MemTotal:  3 kB\nnoise\nHuge : -1 kB\nVmRSS:\t 7 kB\nBig: 99999999999999999 kB";
  EXPECT_EQ(FindField(text, "MemTotal"), "3 kB");
  EXPECT_EQ(FindField(text, "Mem"), std::nullopt);
  EXPECT_EQ(FindKilobytes(text, "VmRSS"), 7U * 1024);
  EXPECT_EQ(FindKilobytes(text, "Huge"), std::nullopt);
  EXPECT_EQ(FindKilobytes(text, "Big"), std::nullopt);
  EXPECT_EQ(FindKilobytes("MemTotal: 3", "MemTotal"), std::nullopt);
}

TEST(KernelTextTest, TrimsNuls) {
  EXPECT_EQ(Trim(std::string_view("\0 Pixel 3\0", 10)), "Pixel 3");
}

// The sanitizers watch this one.
TEST(KernelTextTest, SurvivesAnything) {
  constexpr std::string_view kAlphabet("0129-,.: \nxk\0\xff", 14);
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random.Below(24), ' ');
    for (char& c : text) c = kAlphabet[random.Below(kAlphabet.size())];
    (void)ParseInteger(text);
    (void)ParseFraction(text);
    (void)FindKilobytes(text, "0");
    if (const auto cpus = ParseCpuList(text); cpus.ok()) {
      EXPECT_LE(cpus->size(), static_cast<std::size_t>(kCpusMax));
    }
  }
}

}  // namespace
}  // namespace shoal::os
