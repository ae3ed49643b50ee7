#include "train/cluster/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/cluster/interval_math.h"

namespace shoal::train {
namespace {

// More than anybody waits for: sums of so many stay exact enough.
constexpr double kStepSecondsMax = 1e6;
constexpr double kRunSecondsMax = 1e10;
constexpr double kStepJoulesMax = 1e9;
constexpr std::int64_t kSamplesMax = 1'000'000;
constexpr std::size_t kNameBytesMax = 64;
// Of workers' clocks: what is ready when computing ends may seem to be so a moment before.
constexpr double kTick = 1e-6;

double Clean(double value, double max) {
  return std::isfinite(value) ? std::clamp(value, 0.0, max) : 0;
}

void Clean(Interval& interval, double max) {
  interval.begin = Clean(interval.begin, max);
  interval.end = std::max(interval.begin, Clean(interval.end, max));
}

void Clean(WorkerStep& worker, double seconds) {
  worker.samples = std::clamp<std::int64_t>(worker.samples, 0, kSamplesMax);
  Clean(worker.load, seconds);
  for (std::vector<Interval>* list : {&worker.compute, &worker.buckets}) {
    if (list->size() > TimelineKeeper::kWorkerIntervals) {
      list->resize(TimelineKeeper::kWorkerIntervals);
    }
    for (Interval& interval : *list) Clean(interval, seconds);
  }
  worker.end = Clean(worker.end, seconds);
  if (worker.joules && !(*worker.joules >= 0 && *worker.joules <= kStepJoulesMax)) {
    worker.joules.reset();
  }
}

std::size_t IntervalsOf(const StepTimeline& step) {
  std::size_t count = 0;
  for (const WorkerStep& worker : step.workers) {
    count += 1 + worker.compute.size() + worker.buckets.size();
  }
  return count;
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void TimelineKeeper::Add(StepTimeline step) {
  step.begin = Clean(step.begin, kRunSecondsMax);
  step.seconds = Clean(step.seconds, kStepSecondsMax);
  for (WorkerStep& worker : step.workers) Clean(worker, step.seconds);
  std::erase_if(step.workers, [](const WorkerStep& worker) { return worker.samples == 0; });
  seconds_ = std::max(seconds_, step.begin + step.seconds);
  Count(step);
  Keep(std::move(step));
}

void TimelineKeeper::Count(const StepTimeline& step) {
  const WorkerStep* slowest = nullptr;
  double compute = 0, all = 0;
  for (const WorkerStep& worker : step.workers) {
    images_ += worker.samples;
    if (worker.joules) {
      joules_ += *worker.joules;
      joule_images_ += worker.samples;
      if (worker.joules_estimated) estimated_images_ += worker.samples;
    }
    const double busy = LengthOf(BusyTimes(worker));
    all += busy;
    if (slowest == nullptr || busy > compute) {
      slowest = &worker;
      compute = busy;
    }
  }
  const auto workers = static_cast<double>(step.workers.size());
  ++steps_;
  step_seconds_ += step.seconds;
  compute_ += compute;
  wait_ += std::max(0.0, workers * compute - all);
  worker_seconds_ += workers * step.seconds;
  if (slowest != nullptr) CountSlowest(*slowest);
  Fill(step, compute);
}

void TimelineKeeper::CountSlowest(const WorkerStep& worker) {
  const std::vector<Interval> busy = BusyTimes(worker);
  if (busy.empty()) return;
  std::vector<Interval> early = worker.buckets;
  const double end = busy.back().end - kTick;
  std::erase_if(early, [&](const Interval& bucket) { return bucket.begin >= end; });
  early = UnionOf(std::move(early));
  hideable_ += LengthOf(early);
  hidden_ += LengthOf(Overlap(early, busy));
}

// Bins are of equal numbers of steps; when there are too many, two become one.
void TimelineKeeper::Fill(const StepTimeline& step, double compute) {
  if (bins_.empty() || bins_.back().steps >= bin_steps_) {
    if (bins_.size() == kBins) HalveBins();
    if (bins_.empty() || bins_.back().steps >= bin_steps_) bins_.push_back({.begin = step.begin});
  }
  BinSum& bin = bins_.back();
  bin.seconds += step.seconds;
  bin.compute += compute;
  ++bin.steps;
  for (const WorkerStep& worker : step.workers) {
    if (shares_.size() >= kWorkers && !shares_.contains(worker.node)) continue;
    std::vector<Sum>& sums = shares_[worker.node];
    sums.resize(bins_.size());
    sums.back().value += static_cast<double>(worker.samples);
    ++sums.back().count;
  }
}

void TimelineKeeper::HalveBins() {
  bin_steps_ *= 2;
  for (std::size_t i = 0; i < kBins; i += 2) {
    const BinSum &a = bins_[i], &b = bins_[i + 1];
    bins_[i / 2] = {a.begin, a.seconds + b.seconds, a.compute + b.compute, a.steps + b.steps};
  }
  bins_.resize(kBins / 2);
  for (auto& [node, sums] : shares_) {
    sums.resize((sums.size() + 1) / 2 * 2);
    for (std::size_t i = 0; i < sums.size(); i += 2) {
      const Sum &a = sums[i], &b = sums[i + 1];
      sums[i / 2] = {a.value + b.value, a.count + b.count};
    }
    sums.resize(sums.size() / 2);
  }
}

void TimelineKeeper::Keep(StepTimeline step) {
  if (step.workers.size() > kWorkers) step.workers.resize(kWorkers);
  // One step's worth may be too much, from workers that tell tales: then without its details.
  if (IntervalsOf(step) > kRecentIntervals) step.workers.clear();
  recent_intervals_ += IntervalsOf(step);
  recent_.push_back(std::move(step));
  while (recent_.size() > kRecentSteps || recent_intervals_ > kRecentIntervals) {
    recent_intervals_ -= IntervalsOf(recent_.front());
    recent_.pop_front();
  }
}

void TimelineKeeper::Name(NodeId node, std::string name) {
  if (names_.size() >= kWorkers && !names_.contains(node)) return;
  if (name.size() > kNameBytesMax) name.resize(kNameBytesMax);
  names_[node] = std::move(name);
}

std::string TimelineKeeper::NameOf(NodeId node) const {
  const auto found = names_.find(node);
  return found != names_.end() ? found->second : "node " + std::to_string(ToNumber(node));
}

TimelineSummary TimelineKeeper::summary() const {
  TimelineSummary summary{.steps = steps_, .images = images_};
  const auto steps = static_cast<double>(steps_);
  summary.images_per_second = Ratio(static_cast<double>(images_), step_seconds_);
  summary.compute_seconds = Ratio(compute_, steps);
  summary.communicate_seconds = Ratio(step_seconds_ - compute_, steps);
  summary.efficiency = Ratio(compute_, step_seconds_);
  summary.wait_share = Ratio(wait_, worker_seconds_);
  summary.hidden_share = Ratio(hidden_, hideable_);
  const auto known = static_cast<double>(joule_images_);
  if (joule_images_ > 0) summary.joules_per_image = joules_ / known;
  summary.joules_known_share = Ratio(known, static_cast<double>(images_));
  summary.joules_estimated_share = Ratio(static_cast<double>(estimated_images_), known);
  return summary;
}

std::string EnergyText(const TimelineSummary& summary) {
  if (!summary.joules_per_image) return "not measured";
  std::string notes;
  const auto note = [&](const std::string& text) { notes += (notes.empty() ? "" : "; ") + text; };
  const double estimated = summary.joules_estimated_share;
  if (estimated >= 1) {
    note("estimated");
  } else if (estimated > 0) {
    note(fmt::format("{:.0f} % estimated", 100 * estimated));
  }
  const double known = summary.joules_known_share;
  if (known < 1) note(fmt::format("known for {:.0f} % of the images", 100 * known));
  return fmt::format("{:.3g} J/image{}", *summary.joules_per_image,
                     notes.empty() ? "" : fmt::format(" ({})", notes));
}

std::vector<TimelineKeeper::Bin> TimelineKeeper::bins() const {
  std::vector<Bin> bins;
  for (const BinSum& sum : bins_) {
    bins.push_back({sum.begin, sum.seconds / sum.steps, sum.compute / sum.steps});
  }
  return bins;
}

std::map<NodeId, std::vector<std::optional<double>>> TimelineKeeper::shares() const {
  std::map<NodeId, std::vector<std::optional<double>>> shares;
  for (const auto& [node, sums] : shares_) {
    std::vector<std::optional<double>>& means = shares[node];
    means.resize(bins_.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].count > 0) means[i] = sums[i].value / sums[i].count;
    }
  }
  return shares;
}

}  // namespace shoal::train
