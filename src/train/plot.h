// Plots on pages: curves as SVG inside HTML that needs nothing else, in light and dark, on a desk
// and on a phone. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::train {

struct Point {
  double x = 0;
  double y = 0;  // Not a number: the curve has a gap here.
};

struct Curve {
  std::string name;
  std::vector<Point> points;
  bool marked = false;  // With a dot at every point: tests, which are few.
};

// Where something happened: a dashed line across the plot.
struct PlotMark {
  double x = 0;
  std::string text;
};

struct Panel {
  std::string title;
  std::string unit = "";  // Behind values: " %".
  std::vector<Curve> curves = {};
  std::optional<double> top = {};  // Of the y axis; else from the points.
  std::size_t first_color = 0;     // Of the first curve.
  std::string x_title = "iteration";
  std::vector<PlotMark> marks = {};
  std::string marks_title = "";  // What all marks are.
};

// One panel: a caption that says which curve is which and how it ends, and a plot from 0 to
// `x_max`. More curves than there are colours have one colour, and a caption with how many they
// are.
std::string PlotHtml(const Panel& panel, double x_max);

// The figures one looks for first.
struct Headline {
  std::string name;
  std::string value;
};
std::string HeadlinesHtml(const std::vector<Headline>& headlines);

// The whole page. `style` comes after the style of plots; it and `body` are taken as they are.
std::string PageHtml(std::string_view title, std::string_view style, std::string_view body);

// For text and for attributes in double quotes. Control characters become spaces.
std::string EscapeHtml(std::string_view text);

// "2 h 5 min".
std::string DurationText(double seconds);

}  // namespace shoal::train
