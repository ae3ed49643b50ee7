#include "nn/conv_times.h"

#include <gtest/gtest.h>

namespace shoal::nn {
namespace {

TEST(ConvTimesTest, TextAndBack) {
  ConvTimes times;
  times["device A; workers 2"]["n1 forward"] = {"onednn", 0.00125};
  times["device B; workers 1"]["n1 forward"] = {"implicit-gemm", 12};
  const std::string text = ToText(times);
  EXPECT_NE(text.find("[device A; workers 2]\nn1 forward: onednn 1.2500 ms\n"), std::string::npos);
  const Result<ConvTimes> again = ParseConvTimes(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->at("device A; workers 2").at("n1 forward").row, "onednn");
  EXPECT_DOUBLE_EQ(again->at("device A; workers 2").at("n1 forward").seconds, 0.00125);
  EXPECT_EQ(ToText(*again), text);
}

TEST(ConvTimesTest, AnEmptyFileHasNone) {
  EXPECT_TRUE(ParseConvTimes("")->empty());
  EXPECT_TRUE(ParseConvTimes("\r\n# [no section]\n\n")->empty());
}

TEST(ConvTimesTest, SaysWhichLineIsWrong) {
  const auto message = [](std::string_view text) {
    const Result<ConvTimes> times = ParseConvTimes(text);
    return times.ok() ? "ok" : std::string(times.status().message());
  };
  EXPECT_NE(message("a: b 1 ms").find("line 1: a time before"), std::string::npos);
  EXPECT_NE(message("\n[a").find("line 2: a section without"), std::string::npos);
  for (const char* bad : {"pass", "pass: ", ": row 1 ms", "pass: row", "pass: row ms",
                          "pass: row 1", "pass: row x ms", "pass: row -1 ms", "pass: row nan ms",
                          "pass: row 1e999 ms", "pass: row 1 2 ms", "pass:  1 ms"}) {
    EXPECT_NE(message(std::string("[s]\n") + bad).find("line 2: is not"), std::string::npos) << bad;
  }
  EXPECT_NE(message(std::string(kConvTimesBytesMax + 1, '\n')).find("longer"), std::string::npos);
}

TEST(ConvTimesTest, ASectionIsOneLine) { EXPECT_EQ(SectionName(" a [x]\nb "), "a _x__b"); }

}  // namespace
}  // namespace shoal::nn
