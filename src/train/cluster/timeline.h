// Timeline: what every worker did when, step by step, and what follows from it: images per second,
// the efficiency as the paper defines it (computing / (computing + communicating)), how much of the
// communication was hidden behind computing, energy per image.
//
// Workers measure themselves; whatever they claim, the keeper cuts it to what can be. Pure; the
// functions are thread-safe, the keeper is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_id.h"

namespace shoal::train {

// Seconds since the worker was told to begin the step.
struct Interval {
  double begin = 0;
  double end = 0;
  bool operator==(const Interval&) const = default;
};

// One worker in one step.
struct WorkerStep {
  NodeId node{};
  std::int64_t samples = 0;
  Interval load{};                  // Getting images ready.
  std::vector<Interval> compute{};  // The jobs of the step: forward, and backward in parts.
  // Every bucket: from the moment in which this worker had its part of it until it had the sum.
  std::vector<Interval> buckets{};
  double end = 0;                  // When it had everything.
  std::optional<double> joules{};  // That the device took during the step, if it can tell.
  bool joules_estimated = false;   // By a figure of its owner's, not by a sensor.
  bool operator==(const WorkerStep&) const = default;
};

struct StepTimeline {
  std::int64_t step = 0;
  double begin = 0;    // Seconds since the start of the run, by the head's clock.
  double seconds = 0;  // From telling the workers to hearing from the last.
  std::uint64_t epoch = 0;
  std::vector<WorkerStep> workers{};
};

// Worker lost, worker joined, and what else a reader of the page should know.
struct TimelineEvent {
  double seconds = 0;  // Since the start of the run.
  std::string text;
};

// A worker's busy time in a step is the length of what its load and compute intervals cover
// together. The slowest worker of a step is the one with the longest busy time; the step's
// computing is that busy time, its communicating the rest of its seconds.
//
// Sums are over all steps of the run, and workers without samples do not count.
struct TimelineSummary {
  std::int64_t steps = 0;
  std::int64_t images = 0;
  double images_per_second = 0;    // In the seconds of steps: tests and snapshots do not count.
  double compute_seconds = 0;      // A step's, mean.
  double communicate_seconds = 0;  // A step's, mean.
  double efficiency = 0;           // compute / (compute + communicate)
  // Of all workers' time, steps' seconds × workers: what a worker's busy time is shorter than the
  // slowest one's.
  double wait_share = 0;
  // Of the communication that can be hidden, what was. Measured on the slowest worker of each step:
  // buckets of others also wait for it, and not only for the network. What can be hidden is the
  // length of what its buckets cover together, without those that become whole at the end of its
  // computing or later: the last bucket always does, and there is nothing left that could hide it.
  // What was hidden is the part of that length in which the worker was busy. So 1 means that every
  // bucket but the last arrived before computing ended. 0 if nothing can be hidden.
  double hidden_share = 0;
  // Joules of the workers that can tell, by their images. Nothing: nobody can.
  std::optional<double> joules_per_image{};
  double joules_known_share = 0;      // Of all images: those of workers that can tell, …
  double joules_estimated_share = 0;  // … and of these, those of workers whose owners tell.
};

// "0.12 J/image (estimated; 50 % of the images)", or that nobody knows.
std::string EnergyText(const TimelineSummary& summary);

// What is remembered of a run, however long it is: its sums, its last steps in full, and curves
// whose points stand for ever more steps. A few MB.
class TimelineKeeper {
 public:
  static constexpr std::size_t kRecentSteps = 200;
  static constexpr std::size_t kRecentIntervals = 100'000;  // Of the recent steps together.
  static constexpr std::size_t kWorkerIntervals = 512;      // Of one worker in one step and list.
  static constexpr std::size_t kBins = 256;
  static constexpr std::size_t kWorkers = 1024;  // In curves and recent steps; sums have all.

  // Mean over the steps of a bin.
  struct Bin {
    double begin = 0;  // Of the first step.
    double seconds = 0;
    double compute = 0;
  };

  // Numbers that cannot be are cut to what can: times of workers to the seconds of the step, which
  // are the head's own; energies that are not a number are dropped.
  void Add(StepTimeline step);
  // What a worker is called; else "node 7". For at most kWorkers of them.
  void Name(NodeId node, std::string name);

  TimelineSummary summary() const;
  const std::deque<StepTimeline>& recent() const { return recent_; }
  std::vector<Bin> bins() const;
  // Workers that ever took part, and how many samples each had a step, bin by bin; nothing where it
  // had none. As many entries as bins().
  std::map<NodeId, std::vector<std::optional<double>>> shares() const;
  std::string NameOf(NodeId node) const;
  // Of the run: the end of the last step.
  double seconds() const { return seconds_; }

 private:
  struct Sum {
    double value = 0;
    std::uint32_t count = 0;
  };
  struct BinSum {
    double begin = 0;
    double seconds = 0;
    double compute = 0;
    std::uint32_t steps = 0;
  };

  void Count(const StepTimeline& step);
  void CountSlowest(const WorkerStep& worker);
  void Fill(const StepTimeline& step, double compute);
  void HalveBins();
  void Keep(StepTimeline step);

  std::int64_t steps_ = 0;
  std::int64_t images_ = 0;
  double seconds_ = 0;
  double step_seconds_ = 0;
  double compute_ = 0;
  double wait_ = 0;
  double worker_seconds_ = 0;
  double hidden_ = 0;
  double hideable_ = 0;
  double joules_ = 0;
  std::int64_t joule_images_ = 0;
  std::int64_t estimated_images_ = 0;

  std::uint32_t bin_steps_ = 1;  // Steps in a full bin.
  std::vector<BinSum> bins_;
  std::map<NodeId, std::vector<Sum>> shares_;  // Of each worker: up to its last bin.
  std::map<NodeId, std::string> names_;

  std::deque<StepTimeline> recent_;
  std::size_t recent_intervals_ = 0;
};

// For chrome://tracing or ui.perfetto.dev, of the recent steps: a process per worker, threads for
// computing and communication, and a process that shows the steps. "otherData" has the figures of
// the summary, for programs.
std::string ChromeTrace(const TimelineKeeper& keeper);

// One page without anything from elsewhere: the summary, a picture of the last steps (bars per
// worker), step times and shares over the run, and the last of the events.
std::string TimelineHtml(std::string_view title, const TimelineKeeper& keeper,
                         const std::vector<TimelineEvent>& events);

}  // namespace shoal::train
