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
  std::string title;
  std::string unit;  // Behind values: " %".
  std::vector<Curve> curves;
  std::optional<double> top;    // Of the y axis; else from the points.
  std::size_t first_color = 0;  // Of the first curve.
};

// The plot's own units: the page stretches it to the screen, whatever that is.
constexpr double kWidth = 1000, kHeight = 300;
constexpr std::size_t kPointsMax = 800;  // More cannot be told apart on a screen.
constexpr std::size_t kColors = 6;       // Classes c0 … in the style sheet.
constexpr std::size_t kRatesMax = 20;    // Changes of the learning rate that are shown.

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

// Where the learning rate was changed at once: a curve often bends there.
struct RateChange {
  double iteration = 0;
  double rate = 0;
};

std::vector<RateChange> RateChanges(const RunLog& log) {
  std::vector<RateChange> changes;
  for (std::size_t i = 1; i < log.train.size() && changes.size() < kRatesMax; ++i) {
    const double before = log.train[i - 1].rate;
    const double now = log.train[i].rate;
    if (!(now > 0 && before > 0) || (now < 1.9 * before && before < 1.9 * now)) continue;
    changes.push_back({static_cast<double>(log.train[i].iteration), now});
  }
  return changes;
}

// One panel: a caption that says which curve is which and how it ends, and a plot. Lines are SVG
// that is stretched; text is HTML around it, and so of one size on a phone and on a desk.
class Drawing {
 public:
  Drawing(const Panel& panel, const std::vector<RateChange>& rates, double x_max)
      : panel_(panel), rates_(rates), x_max_(std::max(x_max, 1.0)) {
    double top = 0;
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) top = std::max(top, point.y);
    }
    y_step_ = NiceStep(panel.top.value_or(top), 5);
    y_max_ = panel.top.value_or(std::max(y_step_, std::ceil(top / y_step_ - 1e-9) * y_step_));
  }

  std::string Html() {
    Caption();
    out_ += "<div class=\"plot\">\n";
    Lines();
    Labels();
    return out_ + "</div><p class=\"axis\">iteration</p></figure>\n";
  }

 private:
  double X(double x) const { return x / x_max_ * kWidth; }
  double Y(double y) const { return kHeight - std::min(y / y_max_, 1.0) * kHeight; }
  std::size_t Color(std::size_t curve) const { return (panel_.first_color + curve) % kColors; }

  void Caption() {
    out_ = fmt::format("<figure><figcaption><h2>{}</h2>", Escape(panel_.title));
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) {
      const Curve& curve = panel_.curves[i];
      if (curve.points.empty()) continue;
      out_ += fmt::format("<span class=\"key k{}\">{} <b>{:.4g}{}</b></span>", Color(i),
                          Escape(curve.name), curve.points.back().y, panel_.unit);
    }
    if (!rates_.empty()) out_ += "<span class=\"key dashed\">another learning rate</span>";
    out_ += "</figcaption>\n";
  }

  void Lines() {
    out_ += fmt::format(
        "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"{} over iterations\">\n",
        kWidth, kHeight, Escape(panel_.title));
    for (double y = 0; y <= y_max_ * 1.0001; y += y_step_) {
      out_ += fmt::format("<path class=\"grid\" d=\"M0 {:.1f}H{}\"/>", Y(y), kWidth);
    }
    for (const RateChange& change : rates_) {
      out_ += fmt::format(
          "<path class=\"rate\" d=\"M{:.1f} 0V{}\"><title>learning rate {:.4g} from "
          "iteration {:.0f} on</title></path>",
          X(change.iteration), kHeight, change.rate, change.iteration);
    }
    out_ += "\n";
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) Line(panel_.curves[i], Color(i));
    out_ += "</svg>\n";
  }

  void Line(const Curve& curve, std::size_t color) {
    std::string points;
    for (const Point& point : Thin(curve.points)) {
      points += fmt::format("{:.1f},{:.1f} ", X(point.x), Y(point.y));
    }
    out_ += fmt::format("<polyline class=\"c{}\" points=\"{}\"/>\n", color, points);
    if (!curve.marked || curve.points.size() > kPointsMax) return;
    // A line without length has round ends: a dot that stays round when the plot is stretched.
    for (const Point& point : curve.points) {
      out_ += fmt::format(
          "<path class=\"dot c{}\" d=\"M{:.1f} {:.1f}h0\"><title>iteration {:.0f}: {:.4g}{}</title>"
          "</path>",
          color, X(point.x), Y(point.y), point.x, point.y, panel_.unit);
    }
    out_ += "\n";
  }

  // Places in percent. On narrow screens every second iteration is left out.
  void Labels() {
    for (double y = 0; y <= y_max_ * 1.0001; y += y_step_) {
      out_ += fmt::format("<i class=\"y\" style=\"top:{:.2f}%\">{:.4g}</i>", 100 * Y(y) / kHeight,
                          std::abs(y) < y_step_ / 2 ? 0 : y);
    }
    out_ += "\n";
    const double x_step = std::max(1.0, NiceStep(x_max_, 8));
    bool second = false;
    for (double x = 0; x <= x_max_ * 1.0001; x += x_step, second = !second) {
      out_ += fmt::format("<i class=\"x{}\" style=\"left:{:.2f}%\">{:.0f}</i>",
                          second ? " second" : "", 100 * X(x) / kWidth, x);
    }
  }

  const Panel& panel_;
  const std::vector<RateChange>& rates_;
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
  Panel losses{
      .title = "Loss", .unit = "", .curves = {{.name = "train loss", .points = {}}}, .top = {}};
  // As the first test's loss is: one colour for one test.
  Panel shares{.title = "Accuracy", .unit = " %", .curves = {}, .top = 100, .first_color = 1};
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
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --card: #f6f8fa; --grid: #d8dee4;
  --soft: #59636e; --c0: #0969da; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989;
  --c5: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --card: #161b22;
  --grid: #30363d; --soft: #9198a1; --c0: #58a6ff; --c1: #f0883e; --c2: #3fb950; --c3: #bc8cff;
  --c4: #f778ba; --c5: #8b949e } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 900px; margin: 0 auto; padding: 1.5em 1em }
h1 { font-size: 1.4em; margin: 0 0 .6em } h2 { font-size: 1em; margin: 0 .6em 0 0 }
dl { display: flex; flex-wrap: wrap; gap: .6em; margin: 0 0 2em }
dl div { background: var(--card); border-radius: .5em; padding: .4em .9em; flex: 1 0 auto }
dt { color: var(--soft); font-size: .85em } dd { margin: 0; font-size: 1.15em; font-weight: 600 }
figure { margin: 0 0 2em }
figcaption { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.2em;
  margin-bottom: .8em }
.key { color: var(--soft); white-space: nowrap } .key b { color: var(--ink) }
.key::before { content: ""; display: inline-block; width: 1.1em; height: .2em; margin-right: .5em;
  border-radius: .1em; vertical-align: .25em; background: currentColor }
.dashed::before { background: none; height: 0; border-top: 1px dashed; border-radius: 0 }
.plot { position: relative; height: 260px; margin: 0 1.2em 1.8em 2.6em }
.plot svg { width: 100%; height: 100%; display: block; overflow: visible }
.plot i { position: absolute; color: var(--soft); font: 12px/1 system-ui, sans-serif;
  white-space: nowrap; font-variant-numeric: tabular-nums }
.y { right: 100%; margin-right: 8px; transform: translateY(-50%) }
.x { top: 100%; margin-top: 8px; transform: translateX(-50%) }
.axis { color: var(--soft); font-size: 12px; line-height: 1; text-align: center; margin: 0 }
path, polyline { fill: none; vector-effect: non-scaling-stroke; stroke-width: 2px;
  stroke-linejoin: round; stroke-linecap: round }
.grid { stroke: var(--grid); stroke-width: 1px }
.rate { stroke: var(--soft); stroke-width: 1px; stroke-dasharray: 3 4 } .dot { stroke-width: 7px }
.c0 { stroke: var(--c0) } .c1 { stroke: var(--c1) } .c2 { stroke: var(--c2) }
.c3 { stroke: var(--c3) } .c4 { stroke: var(--c4) } .c5 { stroke: var(--c5) }
.k0::before { color: var(--c0) } .k1::before { color: var(--c1) } .k2::before { color: var(--c2) }
.k3::before { color: var(--c3) } .k4::before { color: var(--c4) } .k5::before { color: var(--c5) }
@media (max-width: 600px) { .second { display: none } .plot { height: 200px } }
</style>
)";

std::string Duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// The figures one looks for first.
std::string Summary(const RunLog& log, const Panel& shares) {
  if (log.train.empty()) return "<p>nothing logged yet</p>\n";
  const TrainRecord& last = log.train.back();
  std::string out = "<dl>";
  const auto add = [&](std::string_view name, const std::string& value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", Escape(name), value);
  };
  for (const Curve& curve : shares.curves) {
    if (!curve.points.empty()) add(curve.name, fmt::format("{:.4g} %", curve.points.back().y));
  }
  add("iterations", fmt::format("{}", last.iteration));
  add("time", Duration(last.seconds));
  add("images/s", fmt::format("{:.4g}", std::round(last.images_per_second)));
  add("learning rate", fmt::format("{:.4g}", last.rate));
  return out + "</dl>\n";
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
      "</head><body>\n<h1>{0}</h1>\n{2}",
      Escape(title), kStyle, Summary(log, shares));
  const std::vector<RateChange> rates = RateChanges(log);
  html += Drawing(losses, rates, x_max).Html();
  if (!shares.curves.empty()) html += Drawing(shares, rates, x_max).Html();
  return html + "</body></html>\n";
}

}  // namespace shoal::train
