#include "train/cluster/timeline.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "train/cluster/interval_math.h"

namespace shoal::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Loads for 0.1 s, computes until `computed`, has three buckets and everything at `end`.
WorkerStep Worker(std::uint64_t node, double computed, double end, std::int64_t samples = 10) {
  return {.node = NodeId{node},
          .samples = samples,
          .load = {0, 0.1},
          .compute = {{0.1, computed / 2}, {computed / 2, computed}},
          .buckets = {{computed / 2, computed * 3 / 4}, {computed, end}},
          .end = end};
}

StepTimeline Step(std::int64_t number, double seconds, std::vector<WorkerStep> workers) {
  return {.step = number,
          .begin = static_cast<double>(number) * seconds,
          .seconds = seconds,
          .epoch = 0,
          .workers = std::move(workers)};
}

std::size_t Occurrences(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(IntervalMath, Unions) {
  const std::vector<Interval> all = UnionOf({{5, 6}, {0, 1}, {2, 2}, {0.5, 2}, {5.5, 5.7}});
  EXPECT_EQ(all, (std::vector<Interval>{{0, 2}, {5, 6}}));
  EXPECT_EQ(LengthOf(all), 3);
  EXPECT_EQ(Overlap(all, {{-1, 0.5}, {1, 5.5}, {8, 9}}),
            (std::vector<Interval>{{0, 0.5}, {1, 2}, {5, 5.5}}));
  EXPECT_TRUE(Overlap(all, {}).empty());
}

TEST(Timeline, SumsUp) {
  TimelineKeeper keeper;
  keeper.Add(Step(0, 1.0, {Worker(1, 0.8, 1.0, 30), Worker(2, 0.6, 1.0)}));
  keeper.Add(Step(1, 1.0, {Worker(1, 0.4, 1.0, 30), Worker(2, 0.6, 1.0)}));
  const TimelineSummary sum = keeper.summary();
  EXPECT_EQ(sum.steps, 2);
  EXPECT_EQ(sum.images, 80);
  EXPECT_DOUBLE_EQ(sum.images_per_second, 40);
  EXPECT_DOUBLE_EQ(sum.compute_seconds, 0.7);
  EXPECT_DOUBLE_EQ(sum.communicate_seconds, 0.3);
  EXPECT_DOUBLE_EQ(sum.efficiency, 0.7);
  EXPECT_NEAR(sum.wait_share, (0.2 + 0.2) / 4, 1e-12);
  // The first bucket is hidden wholly, the last cannot be.
  EXPECT_DOUBLE_EQ(sum.hidden_share, 1);
  EXPECT_FALSE(sum.joules_per_image);
  EXPECT_DOUBLE_EQ(keeper.seconds(), 2);
}

TEST(Timeline, HiddenIsWhatOverlapsTheSlowestsComputing) {
  TimelineKeeper keeper;
  WorkerStep slow = Worker(1, 0.8, 1.0);
  slow.buckets = {{0.2, 0.6}, {0.5, 0.9}, {0.8, 1.0}};  // 0.7 together, 0.6 of it in time.
  WorkerStep quick = Worker(2, 0.5, 1.0);               // Does not count.
  keeper.Add(Step(0, 1.0, {quick, slow}));
  EXPECT_NEAR(keeper.summary().hidden_share, 0.6 / 0.7, 1e-12);
}

TEST(Timeline, EnergyIsOfThoseThatCanTell) {
  TimelineKeeper keeper;
  WorkerStep measured = Worker(1, 0.5, 1);
  measured.joules = 25;
  WorkerStep lying = Worker(2, 0.5, 1);
  lying.joules = -3;
  keeper.Add(Step(0, 1, {measured, lying, Worker(3, 0.5, 1)}));
  EXPECT_DOUBLE_EQ(keeper.summary().joules_per_image.value(), 2.5);
  EXPECT_EQ(EnergyText(keeper.summary()), "2.5 J/image (known for 33 % of the images)");
}

TEST(Timeline, EnergyThatOwnersTellIsMarked) {
  TimelineKeeper keeper;
  EXPECT_EQ(EnergyText(keeper.summary()), "not measured");
  WorkerStep told = Worker(1, 0.5, 1);
  told.joules = 5;
  told.joules_estimated = true;
  keeper.Add(Step(0, 1, {told}));
  EXPECT_EQ(EnergyText(keeper.summary()), "0.5 J/image (estimated)");
  WorkerStep measured = told;
  measured.node = NodeId{2};
  measured.joules_estimated = false;
  keeper.Add(Step(1, 1, {told, measured, Worker(3, 0.5, 1)}));
  EXPECT_EQ(EnergyText(keeper.summary()),
            "0.5 J/image (67 % estimated; known for 75 % of the images)");
}

TEST(Timeline, NumbersThatCannotBeBreakNothing) {
  TimelineKeeper keeper;
  WorkerStep wild{.node = NodeId{~0ULL}, .samples = std::numeric_limits<std::int64_t>::max()};
  wild.load = {kNan, -kInfinity};
  wild.compute = {{-5, kInfinity}, {1e300, -1e300}, {0.5, 0.25}};
  wild.buckets.assign(100'000, {0, kNan});
  wild.end = kInfinity;
  wild.joules = kNan;
  WorkerStep negative = wild;
  negative.samples = std::numeric_limits<std::int64_t>::min();
  keeper.Add(Step(0, 2, {wild, Worker(2, 1, 2)}));
  keeper.Add(Step(1, kNan, {wild}));
  keeper.Add(Step(std::numeric_limits<std::int64_t>::min(), -kInfinity, {wild, negative}));
  keeper.Add({.step = 3, .begin = kInfinity, .seconds = 1e300, .workers = {wild}});
  keeper.Name(NodeId{2}, "<script>\xff\"&" + std::string(10'000, 'x'));
  const TimelineSummary sum = keeper.summary();
  for (const double figure : {sum.images_per_second, sum.compute_seconds, sum.communicate_seconds,
                              sum.efficiency, sum.wait_share, sum.hidden_share}) {
    EXPECT_TRUE(std::isfinite(figure) && figure >= 0) << figure;
  }
  EXPECT_LE(sum.efficiency, 1);
  EXPECT_EQ(keeper.recent()[2].workers.size(), 1U) << "who has no samples does not take part";
  EXPECT_FALSE(nlohmann::json::parse(ChromeTrace(keeper), nullptr, false).is_discarded());
  const std::string page = TimelineHtml("x", keeper, {{kNan, "</table><script>"}});
  for (const std::string_view bad : {"nan", "inf", "<script", "e+30"}) {
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
  }
}

TEST(Timeline, KeepsABoundedHistory) {
  TimelineKeeper keeper;
  constexpr int kSteps = 100'000;
  for (int i = 0; i < kSteps; ++i) {
    StepTimeline step = Step(i, 1.0, {Worker(1, 0.5, 1.0, 20), Worker(2, 0.5, 1.0, 12)});
    if (i >= kSteps / 2) step.workers.pop_back();
    keeper.Add(std::move(step));
  }
  EXPECT_EQ(keeper.recent().size(), TimelineKeeper::kRecentSteps);
  EXPECT_EQ(keeper.recent().back().step, kSteps - 1);
  const auto bins = keeper.bins();
  EXPECT_LE(bins.size(), TimelineKeeper::kBins);
  EXPECT_GT(bins.size(), TimelineKeeper::kBins / 2);
  for (const auto& bin : bins) EXPECT_DOUBLE_EQ(bin.compute, 0.5);
  const auto shares = keeper.shares();
  ASSERT_EQ(shares.size(), 2U);
  for (const auto& share : shares.at(NodeId{1})) EXPECT_EQ(share, 20.0);
  const auto& gone = shares.at(NodeId{2});
  ASSERT_EQ(gone.size(), bins.size());
  EXPECT_EQ(gone.front(), 12.0);
  EXPECT_FALSE(gone.back());
  EXPECT_NEAR(static_cast<double>(std::count(gone.begin(), gone.end(), std::nullopt)),
              static_cast<double>(gone.size()) / 2, 2);
  EXPECT_LT(TimelineHtml("long", keeper, {}).size(), 60'000U);
}

TEST(Timeline, ManyWorkersStayBounded) {
  TimelineKeeper keeper;
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    StepTimeline step = Step(i, 1.0, {});
    for (std::uint64_t w = 0; w < 138; ++w) {
      step.workers.push_back(Worker(w + 2, 0.5 + 0.4 * random.Unit(), 1.0));
      step.workers.back().compute.resize(40, {0.2, 0.3});
    }
    keeper.Add(std::move(step));
  }
  std::size_t intervals = 0;
  for (const StepTimeline& step : keeper.recent()) {
    for (const WorkerStep& worker : step.workers) {
      intervals += 1 + worker.compute.size() + worker.buckets.size();
    }
  }
  EXPECT_LE(intervals, TimelineKeeper::kRecentIntervals);
  EXPECT_GE(keeper.recent().size(), 10U);
  EXPECT_EQ(keeper.shares().size(), 138U);
  const std::string page = TimelineHtml("many", keeper, {});
  EXPECT_LT(page.size(), 600'000U);
  EXPECT_NE(page.find("the slowest 24 of 138 workers"), std::string::npos);
}

TEST(Timeline, TraceHasAProcessPerWorker) {
  TimelineKeeper keeper;
  keeper.Name(NodeId{7}, "kitchen \"S10\"");
  WorkerStep worker = Worker(7, 0.5, 1.0);
  worker.buckets = {{0.2, 0.6}, {0.3, 0.7}, {0.6, 1.0}};  // The second overlaps the others.
  keeper.Add(Step(3, 1.0, {worker, Worker(9, 0.5, 1.0)}));
  const auto trace = nlohmann::json::parse(ChromeTrace(keeper));
  EXPECT_EQ(trace["otherData"]["steps"], 1);
  EXPECT_EQ(trace["otherData"]["efficiency"], 0.5);
  std::map<std::string, int> names;
  std::map<std::string, int> threads;
  for (const auto& event : trace["traceEvents"]) {
    ASSERT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer());
    if (event["ph"] == "M") ++names[event["args"]["name"]];
    if (event["ph"] != "X") continue;
    if (event["pid"] == 1) threads[event["name"]] = event["tid"];
    if (event["name"] == "load") {
      EXPECT_EQ(event["ts"], 3e6);
      EXPECT_EQ(event["dur"], 1e5);
    }
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"steps", 1},
                                               {"kitchen \"S10\"", 1},
                                               {"node 9", 1},
                                               {"computing", 2},
                                               {"communication", 2}}));
  EXPECT_EQ(threads,
            (std::map<std::string, int>{
                {"load", 1}, {"compute", 1}, {"bucket 0", 2}, {"bucket 1", 3}, {"bucket 2", 2}}));
}

TEST(Timeline, PageShowsFiguresBarsAndEvents) {
  TimelineKeeper keeper;
  EXPECT_NE(TimelineHtml("new", keeper, {}).find("no step yet"), std::string::npos);
  keeper.Name(NodeId{1}, "a<b");
  for (int i = 0; i < 20; ++i) {
    keeper.Add(Step(i, 1.0, {Worker(1, 0.8, 1.0, 30), Worker(2, 0.6, 1.0)}));
  }
  const std::string page = TimelineHtml("run & more", keeper, {{3.5, "worker <2> lost"}});
  for (const std::string_view what :
       {"run &amp; more", "<dd>40</dd>", "<dd>80.0 %</dd>", "not measured", "a&lt;b",
        "worker &lt;2&gt; lost", "Last 4 steps", "step 19: 30 images, 800 ms busy of 1 s"}) {
    EXPECT_NE(page.find(what), std::string::npos) << what;
  }
  EXPECT_EQ(Occurrences(page, "<div class=\"bar\">"), 2U);
  EXPECT_EQ(Occurrences(page, "class=\"mark\""), 2U) << "in both plots over the run";
  EXPECT_EQ(page.find("http"), std::string::npos) << "nothing from elsewhere";
}

}  // namespace
}  // namespace shoal::train
