// ChromeTrace: the "Trace Event Format", JSON object form; times in microseconds.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "train/cluster/timeline.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

// Threads of a worker's process. Slices of one thread must not overlap: buckets do, so that more
// threads follow the first of communication.
constexpr int kComputing = 1, kCommunication = 2;
constexpr std::size_t kLanesMax = 16;
constexpr int kHeadProcess = 0;

double Microseconds(double seconds) { return std::round(seconds * 1e7) / 10; }

class Trace {
 public:
  explicit Trace(const TimelineKeeper& keeper) : keeper_(keeper) {}

  std::string Text() {
    Describe("process_name", kHeadProcess, 0, "steps");
    for (const StepTimeline& step : keeper_.recent()) {
      const Json about = {{"step", step.step}, {"epoch", step.epoch}};
      Slice("step " + std::to_string(step.step), kHeadProcess, kComputing, step.begin,
            {0, step.seconds}, about);
      for (const WorkerStep& worker : step.workers) Add(step.begin, worker);
    }
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + Summary().dump() +
           ",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  // Of all steps, also those that are not shown.
  Json Summary() const {
    const TimelineSummary sum = keeper_.summary();
    return {{"steps", sum.steps},
            {"images_per_second", sum.images_per_second},
            {"compute_seconds", sum.compute_seconds},
            {"communicate_seconds", sum.communicate_seconds},
            {"efficiency", sum.efficiency},
            {"wait_share", sum.wait_share},
            {"hidden_share", sum.hidden_share}};
  }

  // Numbers of processes are small: viewers take them for those of an operating system.
  int ProcessOf(NodeId node) {
    const auto [found, added] =
        processes_.try_emplace(node, static_cast<int>(processes_.size()) + 1);
    if (added) {
      Describe("process_name", found->second, 0, keeper_.NameOf(node));
      Describe("thread_name", found->second, kComputing, "computing");
      Describe("thread_name", found->second, kCommunication, "communication");
    }
    return found->second;
  }

  void Add(double begin, const WorkerStep& worker) {
    const int process = ProcessOf(worker.node);
    const Json about = {{"samples", worker.samples}};
    Slice("load", process, kComputing, begin, worker.load, about);
    for (std::size_t i = 0; i < worker.compute.size(); ++i) {
      Slice("compute", process, kComputing, begin, worker.compute[i], {{"part", i}});
    }
    std::vector<double> lanes;  // Until when each is taken.
    for (std::size_t i = 0; i < worker.buckets.size(); ++i) {
      const Interval& bucket = worker.buckets[i];
      auto lane = std::find_if(lanes.begin(), lanes.end(),
                               [&](double until) { return until <= bucket.begin; });
      if (lane == lanes.end() && lanes.size() < kLanesMax) lane = lanes.insert(lane, 0);
      if (lane == lanes.end()) --lane;
      *lane = std::max(*lane, bucket.end);
      Slice("bucket " + std::to_string(i), process,
            kCommunication + static_cast<int>(lane - lanes.begin()), begin, bucket, Json::object());
    }
  }

  void Slice(const std::string& name, int process, int thread, double begin,
             const Interval& interval, const Json& about) {
    if (!(interval.end > interval.begin)) return;
    Append({{"name", name},
            {"ph", "X"},
            {"pid", process},
            {"tid", thread},
            {"ts", Microseconds(begin + interval.begin)},
            {"dur", Microseconds(interval.end - interval.begin)},
            {"args", about}});
  }

  void Describe(const char* what, int process, int thread, const std::string& name) {
    Append({{"name", what},
            {"ph", "M"},
            {"pid", process},
            {"tid", thread},
            {"args", {{"name", name}}}});
  }

  void Append(const Json& event) {
    if (!events_.empty()) events_ += ",\n";
    // Names come from elsewhere: bytes that are not UTF-8 are replaced.
    events_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const TimelineKeeper& keeper_;
  std::map<NodeId, int> processes_;
  std::string events_;
};

}  // namespace

std::string ChromeTrace(const TimelineKeeper& keeper) { return Trace(keeper).Text(); }

}  // namespace shoal::train
