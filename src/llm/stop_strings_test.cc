#include "llm/stop_strings.h"

#include <gtest/gtest.h>

namespace shoal::llm {
namespace {

TEST(StopStringsTest, EndsBeforeTheFirst) {
  StopStrings stop({"###", "User:"});
  EXPECT_EQ(stop.Feed("An answer. User"), "An answer. ");
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.Feed(": more ###"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.Feed("later"), "");
  EXPECT_EQ(stop.Flush(), "");
}

TEST(StopStringsTest, WhatWasHeldBackComesWhenItIsNoStop) {
  StopStrings stop({"abcd"});
  std::string shown;
  for (const char c : std::string("xabcabce")) shown += stop.Feed(std::string(1, c));
  EXPECT_EQ(shown, "xabcabce");
  EXPECT_EQ(stop.Feed("abc"), "");
  EXPECT_EQ(stop.Flush(), "abc");
}

TEST(StopStringsTest, PiecesDoNotMatter) {
  const std::string text = "one two three STOP four";
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    StopStrings stop({"STOP", "", "STEP"});
    std::string shown;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      shown += stop.Feed(text.substr(at, piece));
    }
    EXPECT_EQ(shown + stop.Flush(), "one two three ");
  }
}

TEST(StopStringsTest, WithoutStringsAllPasses) {
  StopStrings stop({});
  EXPECT_EQ(stop.Feed("text"), "text");
}

}  // namespace
}  // namespace shoal::llm
