#include "train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/plot.h"

namespace shoal::train {
namespace {

constexpr std::size_t kRatesMax = 20;  // Changes of the learning rate that are shown.

// Where the learning rate was changed at once: a curve often bends there.
std::vector<PlotMark> RateChanges(const RunLog& log) {
  std::vector<PlotMark> changes;
  for (std::size_t i = 1; i < log.train.size() && changes.size() < kRatesMax; ++i) {
    const double before = log.train[i - 1].rate;
    const double now = log.train[i].rate;
    if (!(now > 0 && before > 0) || (now < 1.9 * before && before < 1.9 * now)) continue;
    const std::int64_t iteration = log.train[i].iteration;
    changes.push_back({static_cast<double>(iteration),
                       fmt::format("learning rate {:.4g} from iteration {} on", now, iteration)});
  }
  return changes;
}

// Whether all values are shares: accuracies are, losses of an untrained network are not.
bool IsShare(const RunLog& log, const std::string& name) {
  if (name.find("loss") != std::string::npos) return false;
  for (const TestRecord& record : log.tests) {
    for (const NamedValue& output : record.outputs) {
      if (output.name == name && !(output.value >= 0 && output.value <= 1)) return false;
    }
  }
  return true;
}

// One curve per test net and result, in the order in which they first occur.
std::vector<std::pair<std::string, Curve>> TestCurves(const RunLog& log) {
  std::vector<std::pair<std::string, Curve>> curves;
  for (const TestRecord& record : log.tests) {
    for (const NamedValue& output : record.outputs) {
      const std::string test = record.test == 0 ? "test" : fmt::format("test {}", record.test);
      const std::string title = test + " " + output.name;
      auto found = std::find_if(curves.begin(), curves.end(),
                                [&](const auto& item) { return item.second.name == title; });
      if (found == curves.end()) {
        curves.push_back({output.name, {.name = title, .points = {}, .marked = true}});
        found = curves.end() - 1;
      }
      if (!std::isfinite(output.value)) continue;
      found->second.points.push_back({static_cast<double>(record.iteration), output.value});
    }
  }
  return curves;
}

std::pair<Panel, Panel> Panels(const RunLog& log) {
  Panel losses{.title = "Loss", .curves = {{.name = "train loss", .points = {}}}};
  // As the first test's loss is: one colour for one test.
  Panel shares{.title = "Accuracy", .unit = " %", .top = 100, .first_color = 1};
  losses.marks = shares.marks = RateChanges(log);
  losses.marks_title = shares.marks_title = "another learning rate";
  for (const TrainRecord& record : log.train) {
    if (!std::isfinite(record.loss)) continue;
    losses.curves[0].points.push_back({static_cast<double>(record.iteration), record.loss});
  }
  for (auto& [name, curve] : TestCurves(log)) {
    if (!IsShare(log, name)) {
      losses.curves.push_back(std::move(curve));
      continue;
    }
    for (Point& point : curve.points) point.y *= 100;
    shares.curves.push_back(std::move(curve));
  }
  return {std::move(losses), std::move(shares)};
}

std::string Summary(const RunLog& log, const Panel& shares) {
  if (log.train.empty()) return "<p>nothing logged yet</p>\n";
  const TrainRecord& last = log.train.back();
  std::vector<Headline> headlines;
  for (const Curve& curve : shares.curves) {
    if (curve.points.empty()) continue;
    headlines.push_back({curve.name, fmt::format("{:.4g} %", curve.points.back().y)});
  }
  headlines.push_back({"iterations", fmt::format("{}", last.iteration)});
  headlines.push_back({"time", DurationText(last.seconds)});
  headlines.push_back({"images/s", fmt::format("{:.4g}", std::round(last.images_per_second))});
  headlines.push_back({"learning rate", fmt::format("{:.4g}", last.rate)});
  return HeadlinesHtml(headlines);
}

}  // namespace

std::string CurvesHtml(std::string_view title, const RunLog& log) {
  const auto [losses, shares] = Panels(log);
  double x_max = 0;
  for (const TrainRecord& record : log.train) {
    x_max = std::max(x_max, static_cast<double>(record.iteration));
  }
  for (const TestRecord& record : log.tests) {
    x_max = std::max(x_max, static_cast<double>(record.iteration));
  }
  std::string body = Summary(log, shares) + PlotHtml(losses, x_max);
  if (!shares.curves.empty()) body += PlotHtml(shares, x_max);
  return PageHtml(title, "", body);
}

}  // namespace shoal::train
