// RunRollCall: a seeded cluster that crashes, splits and heals, with a verdict. What
// `shoal sim` runs, and the test of the World itself until the cluster's own protocols
// live in it.
//
// Checked from outside the protocol (roll_call_protocol.h):
//   safety    nobody is on the roll for longer than the silence limit and the heartbeat
//             deadline after it died or froze; links and executors keep the promises of
//             base/;
//   liveness  when everything has healed, everybody is on the roll within
//             kEverybodyBackLimit.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "sim/faults.h"
#include "sim/models.h"
#include "sim/roll_call_protocol.h"
#include "sim/trace.h"

namespace shoal::sim {

struct RollCallOptions {
  std::uint64_t seed = 42;
  std::uint32_t nodes = 50;                      // Node 1 is the caller, the others are members.
  Duration duration = std::chrono::seconds(60);  // Of the phase in which things break.
  Faults faults{};
};

// More than anybody has phones, and what fits into a few GB of memory.
inline constexpr std::uint32_t kRollCallNodesMax = 100'000;
inline constexpr Duration kRollCallDurationMax = std::chrono::hours(24 * 365);

// The last dial before the healing may wait for its deadline, the one after it comes after
// the longest back-off, and a link broken by loss is noticed after the silence limit.
inline constexpr Duration kEverybodyBackLimit =
    2 * LinkModel{}.silence_limit + 2 * kBackOffMax + 2 * kHeartbeatInterval;

struct RollCallResult {
  enum class Verdict : std::uint8_t { kPassed, kUnsafe, kNotLive };
  Verdict verdict = Verdict::kPassed;
  std::string failure;  // Empty if passed: "node 7 is on the roll 9.2 s after it died".

  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t frames = 0;
  std::uint64_t crashes = 0;
  std::uint64_t restarts = 0;
  std::uint64_t hangs = 0;
  std::uint64_t partitions = 0;
  double virtual_seconds = 0;
  double seconds_to_heal = 0;  // Until everybody was on the roll.
};

// Runs it to the end; a broken promise ends it early. `transcript` gets a line per fault
// and may be empty. kInvalidArgument: fewer than two nodes, or more than a World holds.
Result<RollCallResult> RunRollCall(const RollCallOptions& options, const Trace::Line& transcript);

// The command that does the same again: "shoal sim --seed 42 --nodes 50 --seconds 60
// --frame-loss 0.01". Flags of faults are those of FaultFields().
std::string ReplayLine(const RollCallOptions& options);

}  // namespace shoal::sim
