// NodeCare: whether a node may work, and how hard: by its battery, its heat, its owner's wishes and
// what the operator says of it.
//
//   battery below 20 % and not charging   half of the time, until 25 % or charging for a minute
//   battery at 10 % and not charging      its layers move away before it is below, until 15 %
//   battery at 45 °C                      its layers move away, until below 42 °C
//   battery at 50 °C                      it stops at once, until below 40 °C
//   only while charging, only at hours    its layers move away
//
// An operator may put the 10 % elsewhere; the 20 % are always 10 % above. What is not known demands
// nothing, except that a node that is to work only while charging must say that it does. A sensor
// that falls silent counts for five minutes. Nothing flaps: every demand is a Latch.
//
// A plain value: it is told what happens, and when. Numbers are a node's own, and may be anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/latch.h"
#include "base/time.h"
#include "base/work_rules.h"
#include "wire/control.h"

namespace shoal::coordinator {

// From the mildest to the hardest.
enum class CareState : std::uint8_t { kFree, kThrottled, kPaused, kDrained, kStopped };

// Whether it gets no work, and what it has goes to others.
constexpr bool Rests(CareState state) { return state >= CareState::kPaused; }

struct CareVerdict {
  CareState state = CareState::kFree;
  std::string why;  // In plain words: "battery 10 %, floor 10 %". Empty: free.
  double duty = 1;  // Of the time, how much it may compute.
};

class NodeCare {
 public:
  NodeCare();

  void SetWishes(const wire::pb::Wishes& wishes);
  // Counts from the next Judge on: what former rules demanded is over. REQUIRES: CheckWorkRules.
  void SetRules(const WorkRules& rules);
  void OnTelemetry(const wire::pb::Telemetry& telemetry, Instant now);

  // Judges anew; to be called about every second. `minute`: of the day, by the head's clock;
  // without one, hours do not count. What is new, as the end of a sentence: "rests: battery 9 %,
  // floor 10 %"; empty: nothing.
  std::string Judge(Instant now, std::optional<int> minute);
  const CareVerdict& verdict() const { return verdict_; }

 private:
  template <class T>
  struct Known {
    std::optional<T> value;
    Instant at;
  };
  struct Demand {
    CareState state;
    Latch latch;
    std::string why = {};   // It began.
    std::string over = {};  // It ended.
  };
  enum DemandName : std::uint8_t { kHot, kEmpty, kOffCharger, kOffHours, kWarm, kLow };

  void JudgeCharging(Duration passed);
  void JudgeBattery(Duration passed);
  void JudgeHeat(Duration passed);
  void JudgeWishes(std::optional<int> minute, Duration passed);
  // `why` and `over` give the words for its beginning and its end; asked only when needed.
  template <class Why, class Over>
  void Update(DemandName name, Latch::Seen seen, Duration passed, const Why& why, const Over& over);
  // Of those that hold; nullptr: none does.
  const Demand* Hardest() const;
  // How the verdict changed; `was`: the demand that was the hardest.
  std::string Describe(CareState before, const Demand* was) const;

  WorkRules wishes_;
  WorkRules rules_;
  Known<double> level_;
  Known<double> celsius_;
  Known<bool> charging_;
  std::optional<Instant> judged_;
  Duration off_charger_for_;
  Latch off_charger_;
  std::array<Demand, 6> demands_;  // The hardest first.
  CareVerdict verdict_;
};

}  // namespace shoal::coordinator
