#include "train/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shoal::train {
namespace {

// The plot's own units: the page stretches it to the screen, whatever that is.
constexpr double kWidth = 1000, kHeight = 300;
constexpr std::size_t kPointsMax = 800;  // More cannot be told apart on a screen.
constexpr std::size_t kColors = 6;       // Classes c0 … in the style sheet.

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

// Lines are SVG that is stretched; text is HTML around it, and so of one size on a phone and on a
// desk.
class Drawing {
 public:
  Drawing(const Panel& panel, double x_max)
      : panel_(panel), many_(panel.curves.size() > kColors), x_max_(std::max(x_max, 1.0)) {
    double top = 0;
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) {
        if (std::isfinite(point.y)) top = std::max(top, point.y);
      }
    }
    y_step_ = NiceStep(panel.top.value_or(top), 5);
    y_max_ = panel.top.value_or(std::max(y_step_, std::ceil(top / y_step_ - 1e-9) * y_step_));
  }

  std::string Html() {
    Caption();
    out_ += "<div class=\"plot\">\n";
    Lines();
    Labels();
    return out_ +
           fmt::format("</div><p class=\"axis\">{}</p></figure>\n", EscapeHtml(panel_.x_title));
  }

 private:
  double X(double x) const { return x / x_max_ * kWidth; }
  double Y(double y) const { return kHeight - std::min(y / y_max_, 1.0) * kHeight; }
  std::size_t Color(std::size_t curve) const {
    return many_ ? panel_.first_color : (panel_.first_color + curve) % kColors;
  }

  void Caption() {
    out_ = fmt::format("<figure><figcaption><h2>{}</h2>", EscapeHtml(panel_.title));
    if (many_) {
      out_ += fmt::format("<span class=\"key k{}\"><b>{}</b> curves</span>", Color(0),
                          panel_.curves.size());
    }
    for (std::size_t i = 0; i < panel_.curves.size() && !many_; ++i)
      Key(panel_.curves[i], Color(i));
    if (!panel_.marks.empty()) {
      out_ += fmt::format("<span class=\"key dashed\">{}</span>", EscapeHtml(panel_.marks_title));
    }
    out_ += "</figcaption>\n";
  }

  void Key(const Curve& curve, std::size_t color) {
    if (curve.points.empty()) return;
    const double last = curve.points.back().y;
    const std::string value =
        std::isfinite(last) ? fmt::format("{:.4g}{}", last, panel_.unit) : "–";
    out_ += fmt::format("<span class=\"key k{}\">{} <b>{}</b></span>", color,
                        EscapeHtml(curve.name), EscapeHtml(value));
  }

  void Lines() {
    out_ += fmt::format(
        "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"{} over {}\">\n",
        kWidth, kHeight, EscapeHtml(panel_.title), EscapeHtml(panel_.x_title));
    for (double y = 0; y <= y_max_ * 1.0001; y += y_step_) {
      out_ += fmt::format("<path class=\"grid\" d=\"M0 {:.1f}H{}\"/>", Y(y), kWidth);
    }
    for (const PlotMark& mark : panel_.marks) {
      out_ += fmt::format("<path class=\"mark\" d=\"M{:.1f} 0V{}\"><title>{}</title></path>",
                          X(mark.x), kHeight, EscapeHtml(mark.text));
    }
    out_ += "\n";
    for (std::size_t i = 0; i < panel_.curves.size(); ++i) Line(panel_.curves[i], Color(i));
    out_ += "</svg>\n";
  }

  void Line(const Curve& curve, std::size_t color) {
    const std::vector<Point> points = Thin(curve.points);
    for (std::size_t i = 0; i < points.size();) {
      if (!std::isfinite(points[i].y)) {
        ++i;
        continue;
      }
      // A point between two gaps is a line without length, which is drawn, and not nothing.
      std::string run = At(points[i]);
      for (; i < points.size() && std::isfinite(points[i].y); ++i) {
        const bool level = i > 0 && i + 1 < points.size() && points[i - 1].y == points[i].y &&
                           points[i + 1].y == points[i].y;
        if (!level) run += At(points[i]);
      }
      out_ += fmt::format("<polyline class=\"{}c{}\" points=\"{}\"><title>{}</title></polyline>\n",
                          many_ ? "many " : "", color, run, EscapeHtml(curve.name));
    }
    if (curve.marked && curve.points.size() <= kPointsMax) Dots(curve, color);
  }

  std::string At(const Point& point) const {
    return fmt::format("{:.1f},{:.1f} ", X(point.x), Y(point.y));
  }

  // A line without length has round ends: a dot that stays round when the plot is stretched.
  void Dots(const Curve& curve, std::size_t color) {
    for (const Point& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      out_ += fmt::format(
          "<path class=\"dot c{}\" d=\"M{:.1f} {:.1f}h0\"><title>{} {:.0f}: {:.4g}{}"
          "</title></path>",
          color, X(point.x), Y(point.y), EscapeHtml(panel_.x_title), point.x, point.y,
          EscapeHtml(panel_.unit));
    }
    out_ += "\n";
  }

  // Places in percent. On narrow screens every second one below is left out.
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
  bool many_;
  double x_max_;
  double y_max_ = 1;
  double y_step_ = 1;
  std::string out_;
};

constexpr std::string_view kStyle =
    R"(:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --card: #f6f8fa; --grid: #d8dee4;
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
.mark { stroke: var(--soft); stroke-width: 1px; stroke-dasharray: 3 4 } .dot { stroke-width: 7px }
.many { stroke-width: 1px; opacity: .55 }
.c0 { stroke: var(--c0) } .c1 { stroke: var(--c1) } .c2 { stroke: var(--c2) }
.c3 { stroke: var(--c3) } .c4 { stroke: var(--c4) } .c5 { stroke: var(--c5) }
.k0::before { color: var(--c0) } .k1::before { color: var(--c1) } .k2::before { color: var(--c2) }
.k3::before { color: var(--c3) } .k4::before { color: var(--c4) } .k5::before { color: var(--c5) }
@media (max-width: 600px) { .second { display: none } .plot { height: 200px } }
)";

}  // namespace

std::string PlotHtml(const Panel& panel, double x_max) { return Drawing(panel, x_max).Html(); }

std::string HeadlinesHtml(const std::vector<Headline>& headlines) {
  std::string out = "<dl>";
  for (const Headline& headline : headlines) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", EscapeHtml(headline.name),
                       EscapeHtml(headline.value));
  }
  return out + "</dl>\n";
}

std::string PageHtml(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>\n{1}{2}</style>\n</head><body>\n<h1>{0}</h1>\n{3}</body></html>\n",
      EscapeHtml(title), kStyle, style, body);
}

std::string EscapeHtml(std::string_view text) {
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
        escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string DurationText(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace shoal::train
