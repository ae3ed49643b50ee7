#include "shoal/cluster_doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "shoal/status_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

// Batches vary by a tenth; a phone that throttles loses a third and more.
constexpr double kSlowFrom = 1.3;
// The rules pause a battery at 45 degrees: this is in time to do something.
constexpr double kHotCelsius = 43;
constexpr double kLowPercent = 20;
constexpr double kMemoryBytesLow = 128 << 20;
constexpr double kMemoryPressureHigh = 0.1;
// A hop of Wi-Fi takes 2 to 5 ms; ten are felt in every token.
constexpr double kRoundTripLeastMs = 10;
constexpr double kRoundTripTimes = 4;
// In ten minutes; an owner who tries things out restarts a node twice.
constexpr double kArrivalsMany = 4;

class Examination {
 public:
  explicit Examination(const Json& report) : report_(report), nodes_(ListAt(report, "nodes")) {}

  std::vector<Finding> Run() {
    const std::string waiting = TextAt(ObjectAt(report_, "health"), "waiting");
    if (!waiting.empty()) {
      findings_.push_back({"the cluster", "does not answer: " + waiting,
                           "Start more phones, or those that are down"});
    }
    for (const Json& node : nodes_) Look(node);
    return std::move(findings_);
  }

 private:
  void Look(const Json& node) {
    who_ = NodeName(node);
    const std::string state = TextAt(node, "state");
    if (state == "down") return LookAtMissing(node);
    LookAtState(node, state);
    LookAtSpeed(node);
    LookAtBattery(node);
    LookAtMemory(node);
    LookAtLink(node);
    for (const std::string& doubt : TextsAt(node, "doubts")) {
      Add("has a sensor that cannot be right: " + doubt,
          "Its work is not affected; figures about it may be wrong");
    }
  }

  void Add(std::string problem, std::string advice) {
    findings_.push_back({who_, std::move(problem), std::move(advice)});
  }

  void LookAtMissing(const Json& node) {
    const std::optional<double> seconds = NumberAt(node, "heard_seconds");
    std::string problem =
        seconds ? fmt::format("has been down for {}", Span(*seconds))
                : std::string("is a member, and has not been here since the head was started");
    if (const std::string reason = TextAt(node, "reason"); !reason.empty()) {
      problem += ": " + reason;
    }
    Add(problem,
        "Look whether it is on, charged and in the network; `shoal join` on it starts it again");
    LookAtArrivals(node);
  }

  static std::string Span(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{:.0f} minutes", seconds / 60);
    return fmt::format("{:.0f} hours", seconds / 3600);
  }

  // States that this program does not know come from rules of the head, with their reasons.
  void LookAtState(const Json& node, const std::string& state) {
    LookAtArrivals(node);
    if (state.empty() || state == "up" || state == "free" || state == "draining") return;
    const std::string reason = TextAt(node, "reason");
    Add("is " + state + (reason.empty() ? "" : ": " + reason),
        state == "quarantined"
            ? fmt::format("What it computes is wrong; `shoal nodes evict {:.0f}` puts it out",
                          NumberAt(node, "id").value_or(0))
            : std::string("It is used again when the reason is gone"));
  }

  void LookAtArrivals(const Json& node) {
    const double arrivals = NumberAt(node, "arrivals").value_or(0);
    if (arrivals < kArrivalsMany) return;
    Add(fmt::format("came {:.0f} times in the last ten minutes, and went", arrivals),
        "Look at its Wi-Fi, and take the app out of its system's battery optimisation");
  }

  void LookAtSpeed(const Json& node) {
    const double throttle = NumberAt(node, "throttle").value_or(1);
    const double slowness = NumberAt(node, "slowness").value_or(1);
    if (std::max(throttle, slowness) <= kSlowFrom) return;
    if (throttle >= slowness) {
      Add(fmt::format("takes {:.1f} times as long as at its best", throttle),
          "Let it cool: out of its case, in the shade, not on others; end what else runs there");
    } else {
      Add(fmt::format("takes {:.1f} times as long as it promised", slowness),
          "End what else runs there, and let it cool; its layers go to faster nodes meanwhile");
    }
  }

  void LookAtBattery(const Json& node) {
    const std::optional<double> celsius = NumberAt(node, "temperature_c");
    if (celsius && *celsius >= kHotCelsius) {
      Add(fmt::format("has a battery of {:.0f} °C", *celsius),
          "Cool it now, and look whether the battery is swollen; at 45 °C it is paused");
    }
    const std::optional<double> percent = NumberAt(node, "battery_percent");
    const std::optional<bool> charging = FlagAt(node, "charging");
    if (!percent || *percent >= kLowPercent || charging.value_or(false)) return;
    Add(fmt::format("has {:.0f} % of its battery left and {}", *percent,
                    charging ? "does not charge" : "does not say whether it charges"),
        "Plug it in, and look at cable and charger");
  }

  void LookAtMemory(const Json& node) {
    const double pressure = NumberAt(node, "memory_pressure").value_or(0);
    const std::optional<double> free = NumberAt(node, "memory_free_bytes");
    const char* const advice = "Close apps there, or start it with a smaller `--memory`";
    if (pressure > kMemoryPressureHigh) {
      Add(fmt::format("waits for memory {:.0f} % of the time", 100 * pressure), advice);
    } else if (free && *free < kMemoryBytesLow) {
      Add(fmt::format("has only {:.0f} MB of memory left", *free / 1e6), advice);
    }
  }

  void LookAtLink(const Json& node) {
    const std::optional<double> own = NumberAt(node, "round_trip_ms");
    if (!own) return;
    std::vector<double> others;
    for (const Json& other : nodes_) {
      const std::optional<double> trip = NumberAt(other, "round_trip_ms");
      if (trip && other != node) others.push_back(*trip);
    }
    if (others.empty()) return;
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    std::nth_element(others.begin(), middle, others.end());
    if (*own < std::max(kRoundTripLeastMs, kRoundTripTimes * *middle)) return;
    Add(fmt::format("is {:.0f} ms away from the head and back; others are {:.1f}", *own, *middle),
        "Bring it nearer to the access point, use 5 GHz, or a cable");
  }

  const Json& report_;
  const std::vector<Json> nodes_;
  std::string who_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Diagnose(const Json& report) { return Examination(report).Run(); }

std::string ToText(const Finding& finding) {
  return fmt::format("{} {}. {}.", finding.who, finding.problem, finding.advice);
}

}  // namespace shoal
