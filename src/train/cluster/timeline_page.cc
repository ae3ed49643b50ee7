#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "train/cluster/interval_math.h"
#include "train/cluster/timeline.h"
#include "train/plot.h"

namespace shoal::train {
namespace {

constexpr std::size_t kStepsDrawn = 4;     // As bars.
constexpr std::size_t kWorkersDrawn = 24;  // As bars; more cannot be looked through.
constexpr std::size_t kCurvesDrawn = 150;
constexpr std::size_t kEventsListed = 100;
constexpr std::size_t kEventsMarked = 40;
constexpr std::size_t kEventBytesMax = 300;
// Of a row of bars, whose own units they are. What is nearer than kNear looks like one.
constexpr double kWidth = 1000, kNear = 0.7;

constexpr std::string_view kStyle = R"(
.bars { margin-bottom: .4em } .bar { display: flex; align-items: center; gap: .6em }
.bar span { width: 8em; flex: none; overflow: hidden; text-overflow: ellipsis; font-size: .85em;
  white-space: nowrap; text-align: right; color: var(--soft) }
.bar svg { flex: 1; min-width: 0; height: 20px; margin: 2px 0; background: var(--card) }
.bar path { stroke: none; vector-effect: none }
.bar .load { fill: var(--c3) } .bar .compute { fill: var(--c0) } .bar .wait { fill: var(--grid) }
.bar .communicate { fill: var(--c1) } .bar .step { fill: var(--ink) }
.key.load::before { color: var(--c3) } .key.compute::before { color: var(--c0) }
.key.wait::before { color: var(--grid) } .key.communicate::before { color: var(--c1) }
.bars + .axis { margin-left: 8em }
.note { color: var(--soft) } .box::before { height: .7em; vertical-align: -.05em }
table { border-collapse: collapse; font-size: .9em } td { padding: .15em 1.2em .15em 0;
  vertical-align: top; overflow-wrap: anywhere }
td:first-child { color: var(--soft); white-space: nowrap; font-variant-numeric: tabular-nums }
@media (max-width: 600px) { .bar span { width: 4.5em } .bars + .axis { margin-left: 5em } }
)";

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string Headlines(const TimelineKeeper& keeper) {
  const TimelineSummary sum = keeper.summary();
  return HeadlinesHtml({
      {"images/s", fmt::format("{:.4g}", sum.images_per_second)},
      {"efficiency", Percent(sum.efficiency)},
      {"communication hidden", Percent(sum.hidden_share)},
      {"waiting for others", Percent(sum.wait_share)},
      {"energy", EnergyText(sum)},
      {"step", Seconds(sum.compute_seconds + sum.communicate_seconds)},
      {"computing", Seconds(sum.compute_seconds)},
      {"steps", fmt::format("{}", sum.steps)},
      {"time", DurationText(keeper.seconds())},
  });
}

// Fewer intervals that look the same on a screen: neighbours are joined.
std::vector<Interval> Coarse(const std::vector<Interval>& intervals, double near) {
  std::vector<Interval> coarse;
  for (const Interval& next : intervals) {
    if (!coarse.empty() && next.begin - coarse.back().end < near) {
      coarse.back().end = next.end;
    } else {
      coarse.push_back(next);
    }
  }
  return coarse;
}

// A row per worker: what it did in the last steps, one after the other on one axis of time. The
// lower part of a bar shows sums that travel while the worker computes.
class Bars {
 public:
  explicit Bars(const TimelineKeeper& keeper) : keeper_(keeper) {
    const auto& recent = keeper.recent();
    const std::size_t count = std::min(kStepsDrawn, recent.size());
    for (std::size_t i = recent.size() - count; i < recent.size(); ++i) {
      steps_.push_back(&recent[i]);
      begins_.push_back(length_);
      length_ += recent[i].seconds;
    }
  }

  std::string Html() {
    if (!(length_ > 0)) return "";
    const std::vector<NodeId> workers = Slowest();
    out_ = fmt::format("<figure><figcaption><h2>Last {}</h2>",
                       steps_.size() == 1 ? "step" : fmt::format("{} steps", steps_.size()));
    for (const char* kind : {"load", "compute", "communicate", "wait"}) {
      out_ += fmt::format("<span class=\"key box {0}\">{0}</span>", kind);
    }
    if (workers_ > workers.size()) {
      out_ += fmt::format("<span class=\"note\">the slowest {} of {} workers</span>",
                          workers.size(), workers_);
    }
    out_ += "</figcaption>\n<div class=\"bars\">\n";
    for (const NodeId node : workers) Row(node);
    return out_ + fmt::format("</div><p class=\"axis\">steps {} to {}: {}</p></figure>\n",
                              steps_.front()->step, steps_.back()->step, Seconds(length_));
  }

 private:
  std::vector<NodeId> Slowest() {
    std::map<NodeId, double> busy;
    for (const StepTimeline* step : steps_) {
      for (const WorkerStep& worker : step->workers)
        busy[worker.node] += LengthOf(BusyTimes(worker));
    }
    std::vector<NodeId> workers;
    for (const auto& [node, seconds] : busy) workers.push_back(node);
    workers_ = workers.size();
    if (workers_ <= kWorkersDrawn) return workers;
    std::stable_sort(workers.begin(), workers.end(),
                     [&](NodeId a, NodeId b) { return busy[a] > busy[b]; });
    workers.resize(kWorkersDrawn);
    return workers;
  }

  void Row(NodeId node) {
    const std::string name = EscapeHtml(keeper_.NameOf(node));
    out_ += fmt::format(
        "<div class=\"bar\"><span title=\"{0}\">{0}</span><svg viewBox=\"0 0 {1} 10\" "
        "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0}\">",
        name, kWidth);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (const WorkerStep& worker : steps_[i]->workers) {
        if (worker.node == node) Draw(*steps_[i], worker, begins_[i]);
      }
      // Where a step begins, on top of what is there.
      if (i > 0) Paint("step", 0, 10, {{begins_[i], begins_[i] + 1.5 * length_ / kWidth}}, "");
    }
    out_ += "</svg></div>\n";
  }

  void Draw(const StepTimeline& step, const WorkerStep& worker, double begin) {
    const std::vector<Interval> busy = BusyTimes(worker);
    const double done = busy.empty() ? 0 : busy.back().end;
    const double all_done = std::max(done, ComputingEnd(step));
    const std::string about =
        fmt::format("step {}: {} images, {} busy of {}", step.step, worker.samples,
                    Seconds(LengthOf(busy)), Seconds(step.seconds));
    const auto at = [&](std::vector<Interval> intervals) {
      for (Interval& i : intervals) i = {i.begin + begin, i.end + begin};
      return intervals;
    };
    Paint("wait", 0, 10, at({{done, step.seconds}}), about);
    Paint("communicate", 0, 10, at({{all_done, std::max(all_done, worker.end)}}), about);
    Paint("compute", 0, 10, at(UnionOf(worker.compute)), about);
    Paint("load", 0, 10, at({worker.load}), about);
    Paint("communicate", 7, 10, at(Overlap(UnionOf(worker.buckets), busy)), about);
  }

  static double ComputingEnd(const StepTimeline& step) {
    double end = 0;
    for (const WorkerStep& worker : step.workers) {
      const std::vector<Interval> busy = BusyTimes(worker);
      if (!busy.empty()) end = std::max(end, busy.back().end);
    }
    return end;
  }

  void Paint(std::string_view kind, int top, int bottom, const std::vector<Interval>& intervals,
             const std::string& about) {
    const double scale = kWidth / length_;
    std::string path;
    for (const Interval& i : Coarse(intervals, kNear / scale)) {
      const double from = scale * i.begin, to = scale * i.end;
      if (to - from < kNear / 2) continue;
      path += fmt::format("M{:.1f} {}H{:.1f}V{}H{:.1f}z", from, top, to, bottom, from);
    }
    if (path.empty()) return;
    out_ += fmt::format("<path class=\"{}\" d=\"{}\">", kind, path);
    if (!about.empty()) out_ += fmt::format("<title>{}</title>", EscapeHtml(about));
    out_ += "</path>";
  }

  const TimelineKeeper& keeper_;
  std::vector<const StepTimeline*> steps_;
  std::vector<double> begins_;  // Of each, in the picture.
  double length_ = 0;
  std::size_t workers_ = 0;  // That took part, drawn or not.
  std::string out_;
};

struct TimeUnit {
  double seconds = 1;
  const char* name = "seconds";
};

TimeUnit UnitFor(double seconds) {
  if (seconds < 180) return {};
  if (seconds < 3 * 3600) return {60, "minutes"};
  return {3600, "hours"};
}

// The last ones, oldest first, with texts of bearable length.
std::vector<TimelineEvent> Listed(const std::vector<TimelineEvent>& events, std::size_t count) {
  const std::size_t skip = events.size() - std::min(events.size(), count);
  std::vector<TimelineEvent> listed(events.begin() + static_cast<std::ptrdiff_t>(skip),
                                    events.end());
  for (TimelineEvent& event : listed) {
    event.seconds = std::isfinite(event.seconds) ? std::max(event.seconds, 0.0) : 0;
    if (event.text.size() > kEventBytesMax) event.text.resize(kEventBytesMax);
  }
  return listed;
}

std::string OverTheRun(const TimelineKeeper& keeper, const std::vector<TimelineEvent>& events) {
  const TimeUnit unit = UnitFor(keeper.seconds());
  const std::vector<TimelineKeeper::Bin> bins = keeper.bins();
  if (bins.empty()) return "";
  Panel times{.title = "Step time",
              .unit = " s",
              .curves = {{.name = "computing", .points = {}}, {.name = "step", .points = {}}},
              .x_title = unit.name};
  for (const TimelineKeeper::Bin& bin : bins) {
    times.curves[0].points.push_back({bin.begin / unit.seconds, bin.compute});
    times.curves[1].points.push_back({bin.begin / unit.seconds, bin.seconds});
  }
  Panel shares{.title = "Images of each worker in a step", .x_title = unit.name};
  for (const auto& [node, means] : keeper.shares()) {
    if (shares.curves.size() == kCurvesDrawn) break;
    Curve& curve = shares.curves.emplace_back(Curve{.name = keeper.NameOf(node), .points = {}});
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double share = means[i].value_or(std::numeric_limits<double>::quiet_NaN());
      curve.points.push_back({bins[i].begin / unit.seconds, share});
    }
  }
  for (const TimelineEvent& event : Listed(events, kEventsMarked)) {
    const double at = std::min(event.seconds, keeper.seconds()) / unit.seconds;
    times.marks.push_back({at, DurationText(event.seconds) + ": " + event.text});
  }
  shares.marks = times.marks;
  times.marks_title = shares.marks_title = "event";
  const double x_max = keeper.seconds() / unit.seconds;
  return PlotHtml(times, x_max) + PlotHtml(shares, x_max);
}

std::string Events(const std::vector<TimelineEvent>& events) {
  if (events.empty()) return "";
  std::string out = "<h2>Events</h2>\n";
  if (events.size() > kEventsListed) {
    out += fmt::format("<p>the last {} of {}</p>\n", kEventsListed, events.size());
  }
  out += "<table>";
  for (const TimelineEvent& event : Listed(events, kEventsListed)) {
    out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", DurationText(event.seconds),
                       EscapeHtml(event.text));
  }
  return out + "</table>\n";
}

}  // namespace

std::string TimelineHtml(std::string_view title, const TimelineKeeper& keeper,
                         const std::vector<TimelineEvent>& events) {
  const std::string body = keeper.summary().steps == 0 ? "<p>no step yet</p>\n"
                                                       : Headlines(keeper) + Bars(keeper).Html() +
                                                             OverTheRun(keeper, events);
  return PageHtml(title, kStyle, body + Events(events));
}

}  // namespace shoal::train
