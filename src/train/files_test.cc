#include <gtest/gtest.h>

#include "train/curves.h"
#include "train/sidecar.h"

namespace shoal::train {
namespace {

TEST(Sidecar, ComesBackAsItWas) {
  const Sidecar sidecar{.iteration = 1200,
                        .seed = 0xFFFFFFFFFFFFFFFF,
                        .batch = 32,
                        .workers = 4,
                        .train = {{3, 17}},
                        .tests = {{{1, 0}, {0, 5}}, {}},
                        .convolutions = {{"n4 8x8x3 o8 forward", "implicit-gemm"}},
                        .losses = {0.1, 1.0 / 3},
                        .schedule = {.current_step = 2, .best_iteration = 7, .best_loss = 0.7}};
  const auto read = ReadSidecar("x.shoal.json", WriteSidecar(sidecar));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, sidecar);
}

TEST(Sidecar, SaysWhatIsWrong) {
  EXPECT_EQ(ReadSidecar("x", "[1]").status().message(), "x: this is not a snapshot's JSON");
  EXPECT_EQ(ReadSidecar("x", "{").status().message(), "x: this is not a snapshot's JSON");
  std::string text = WriteSidecar({});
  text.replace(text.find("\"seed\""), 6, "\"sead\"");
  EXPECT_EQ(ReadSidecar("x", text).status().message(), "x: \"seed\" is missing");
  EXPECT_FALSE(ReadSidecar("x", "{\"version\": \"1\", \"train\": {\"epoch\": 1}}").ok());
}

TEST(RunLog, ComesBackAndIsCut) {
  RunLog log{.train = {{.iteration = 100, .loss = 1.5}, {.iteration = 200, .loss = 1.25}},
             .tests = {{.iteration = 100, .outputs = {{"accuracy", 0.5}}},
                       {.iteration = 200, .outputs = {{"accuracy", 0.75}}}}};
  auto read = ParseLog("x", LogText(log) + "{\"iteration\": 3");  // Cut off while it was written.
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(LogText(*read), LogText(log));
  CutLog(150, *read);
  EXPECT_EQ(read->train.size(), 1U);
  EXPECT_EQ(read->tests.size(), 1U);
  EXPECT_EQ(ParseLog("x", "{}\n").status().message(),
            "x:1: this is not a line of a training's log");
}

TEST(Curves, ShowLossAndAccuracy) {
  RunLog log;
  for (int i = 1; i <= 5000; ++i) log.train.push_back({.iteration = i, .loss = 2.0 / i});
  log.tests.push_back({.iteration = 5000, .outputs = {{"top<1>", 0.5}, {"loss", 0.25}}});
  const std::string page = CurvesHtml("a & b", log);
  EXPECT_NE(page.find("a &amp; b"), std::string::npos);
  EXPECT_NE(page.find("test top&lt;1&gt; <b>50 %</b>"), std::string::npos);
  EXPECT_NE(page.find("<h2>Accuracy</h2>"), std::string::npos);
  EXPECT_NE(page.find("iteration"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_LT(page.size(), 30'000U);
  EXPECT_EQ(page.find("learning rate 0.01 from"), std::string::npos);
  log.train[100].rate = 0.1;
  for (std::size_t i = 101; i < log.train.size(); ++i) log.train[i].rate = 0.01;
  EXPECT_NE(CurvesHtml("x", log).find("learning rate 0.01 from iteration 102 on"),
            std::string::npos);
  EXPECT_NE(CurvesHtml("nothing", {}).find("nothing logged yet"), std::string::npos);
}

}  // namespace
}  // namespace shoal::train
