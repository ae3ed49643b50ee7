#include "train/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace shoal::train {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;
  bool marked = false;  // With a dot at every point: tests, which are few.
};

struct Panel {
  std::string unit;  // Of the y axis.
  std::vector<Curve> curves;
  std::optional<double> top;  // Of the y axis; else from the points.
};

constexpr double kWidth = 860, kHeight = 300;
constexpr double kLeft = 64, kRight = 16, kTop = 40, kBottom = 48;
constexpr std::size_t kPointsMax = 800;  // More cannot be told apart at this width.
constexpr int kColors = 6;               // Classes c0 … in the style sheet.

std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// 1, 2 or 5 times a power of ten, so that about `count` of them make `range`.
double NiceStep(double range, int count) {
  const double raw = std::max(range, 1e-12) / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * 0.999) return factor * power;
  }
  return 10 * power;
}

// Averages neighbours where there are too many.
std::vector<Point> Thin(const std::vector<Point>& points) {
  const std::size_t group = (points.size() + kPointsMax - 1) / kPointsMax;
  if (group <= 1) return points;
  std::vector<Point> thin;
  for (std::size_t i = 0; i < points.size(); i += group) {
    const std::size_t end = std::min(points.size(), i + group);
    Point sum;
    for (std::size_t k = i; k < end; ++k) sum = {sum.x + points[k].x, sum.y + points[k].y};
    const auto count = static_cast<double>(end - i);
    thin.push_back({sum.x / count, sum.y / count});
  }
  return thin;
}

class Drawing {
 public:
  Drawing(const Panel& panel, double x_max) : panel_(panel), x_max_(std::max(x_max, 1.0)) {
    double top = 0;
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) top = std::max(top, point.y);
    }
    y_step_ = NiceStep(panel.top.value_or(top), 5);
    y_max_ = panel.top.value_or(std::max(y_step_, std::ceil(top / y_step_ - 1e-9) * y_step_));
  }

  std::string Svg() {
    out_ =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over iterations\">\n",
                    kWidth, kHeight, Escape(panel_.unit));
    Grid();
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) Line(panel_.curves[i], i % kColors);
    Legend();
    return out_ + "</svg>\n";
  }

 private:
  double X(double x) const { return kLeft + x / x_max_ * (kWidth - kLeft - kRight); }
  double Y(double y) const {
    return kHeight - kBottom - std::min(y / y_max_, 1.0) * (kHeight - kTop - kBottom);
  }

  void Grid() {
    for (double y = 0; y <= y_max_ * 1.0001; y += y_step_) {
      out_ += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, Y(y),
                          kWidth - kRight);
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
                          kLeft - 8, Y(y) + 4, std::abs(y) < y_step_ / 2 ? 0 : y);
    }
    const double x_step = std::max(1.0, NiceStep(x_max_, 8));
    for (double x = 0; x <= x_max_ * 1.0001; x += x_step) {
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                          X(x), kHeight - kBottom + 18, x);
    }
    out_ += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">",
                        (kLeft + kWidth - kRight) / 2, kHeight - 10) +
            "iteration</text>\n";
    out_ += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", 8.0,
                        kTop - 20, Escape(panel_.unit));
  }

  void Line(const Curve& curve, std::size_t color) {
    std::string points;
    for (const Point& point : Thin(curve.points)) {
      points += fmt::format("{:.1f},{:.1f} ", X(point.x), Y(point.y));
    }
    out_ += fmt::format("<polyline class=\"c{}\" points=\"{}\"/>\n", color, points);
    if (!curve.marked || curve.points.size() > kPointsMax) return;
    for (const Point& point : curve.points) {
      out_ += fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", color,
                          X(point.x), Y(point.y));
    }
    out_ += "\n";
  }

  void Legend() {
    double x = kLeft + 110;
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
      const Curve& curve = panel_.curves[i];
      if (curve.points.empty()) continue;
      const std::string text = fmt::format("{} {:.4g}", curve.name, curve.points.back().y);
      out_ +=
          fmt::format("<path class=\"c{}\" d=\"M{:.1f} {:.1f}h18\"/>", i % kColors, x, kTop - 24);
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 24, kTop - 20,
                          Escape(text));
      x += 48 + 7.2 * static_cast<double>(text.size());
    }
  }

  const Panel& panel_;
  double x_max_;
  double y_max_ = 1;
  double y_step_ = 1;
  std::string out_;
};

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
  Panel losses{.unit = "loss", .curves = {{.name = "train loss", .points = {}}}, .top = {}};
  Panel shares{.unit = "accuracy (%)", .curves = {}, .top = 100};
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

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --grid: #d8dee4; --soft: #59636e;
  --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989; --c5: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --grid: #30363d;
  --soft: #9198a1; --c0: #58a6ff; --c1: #f0883e; --c2: #3fb950; --c3: #bc8cff; --c4: #f778ba;
  --c5: #8b949e } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 900px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.3em; margin: 0 0 .2em } p { color: var(--soft); margin: 0 0 1.2em }
svg { width: 100%; height: auto; display: block; margin-bottom: 1em }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif } svg .label { fill: var(--ink) }
polyline, path { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.grid { stroke: var(--grid); stroke-width: 1 } circle { stroke: none }
.c0 { stroke: var(--c0) } .c1 { stroke: var(--c1) } .c2 { stroke: var(--c2) }
.c3 { stroke: var(--c3) } .c4 { stroke: var(--c4) } .c5 { stroke: var(--c5) }
circle.c0 { fill: var(--c0) } circle.c1 { fill: var(--c1) } circle.c2 { fill: var(--c2) }
circle.c3 { fill: var(--c3) } circle.c4 { fill: var(--c4) } circle.c5 { fill: var(--c5) }
</style>
)";

std::string Summary(const RunLog& log) {
  if (log.train.empty()) return "nothing logged yet";
  const TrainRecord& last = log.train.back();
  return fmt::format("{} iterations in {:.0f} s, {:.0f} images/s at the end, learning rate {:g}",
                     last.iteration, last.seconds, last.images_per_second, last.rate);
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
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n{1}"
      "</head><body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
      Escape(title), kStyle, Escape(Summary(log)));
  html += Drawing(losses, x_max).Svg();
  if (!shares.curves.empty()) html += Drawing(shares, x_max).Svg();
  return html + "</body></html>\n";
}

}  // namespace shoal::train
