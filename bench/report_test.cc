#include "bench/report.h"

#include <gtest/gtest.h>

namespace shoal::bench {
namespace {

Report TwoRows() {
  return {.bench = "gemm",
          .rows = {{.name = "a", .unit = "GFLOP/s", .ours = 8, .peers = {{"x", 4}}, .limit = 10},
                   {.name = "b",
                    .unit = "ms",
                    .higher_is_better = false,
                    .ours = 4,
                    .peers = {{"x", 2}, {"y", 8}},
                    .limit = {}}}};
}

TEST(ReportTest, ARatioAboveOneMeansOursIsBetter) {
  const Report report = TwoRows();
  EXPECT_DOUBLE_EQ(Ratio(report.rows[0], 4), 2.0);
  EXPECT_DOUBLE_EQ(Ratio(report.rows[1], 2), 0.5);
}

TEST(ReportTest, GeomeanCountsTheRowsThatHaveThePeer) {
  const auto means = Geomeans(TwoRows());
  ASSERT_EQ(means.size(), 2U);
  EXPECT_EQ(means[0].first, "x");
  EXPECT_DOUBLE_EQ(means[0].second, 1.0);  // 2 and 1/2.
  EXPECT_DOUBLE_EQ(means[1].second, 2.0);
}

TEST(ReportTest, JsonHasTheOneShape) {
  const nlohmann::ordered_json json = ToJson(TwoRows());
  EXPECT_EQ(json["bench"], "gemm");
  EXPECT_TRUE(json["machine"].contains("cpu"));
  EXPECT_EQ(json["results"][0].dump(),
            R"({"case":"a","unit":"GFLOP/s","higher_is_better":true,"ours":8.0,)"
            R"("peers":{"x":4.0},"ratio":{"x":2.0},"limit":10.0,"share":0.8})");
  EXPECT_EQ(json["results"][1]["ratio"].dump(), R"({"x":0.5,"y":2.0})");
  EXPECT_FALSE(json["results"][1].contains("limit"));
  EXPECT_EQ(json["geomean"].dump(), R"({"x":1.0,"y":2.0})");
}

TEST(ReportTest, TheTableHasTheSameFigures) {
  const std::string table = ToTable(TwoRows());
  EXPECT_NE(table.find("a     GFLOP/s              8           4    2.00           -       -"),
            std::string::npos)
      << table;
}

}  // namespace
}  // namespace shoal::bench
