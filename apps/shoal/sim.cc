// `shoal sim`: a whole cluster in one thread, with phones that crash, hang and lose
// their network, from one seed. The same seed gives the same trace on every machine.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/commands.h"
#include "sim/roll_call.h"

namespace shoal {
namespace {

struct SimOptions {
  bool json = false;
  bool quiet = false;
  bool random_faults = false;
  double seconds = 60;
  std::vector<double> fault_values;  // As FaultFields lists them; negative: not given.
  sim::RollCallOptions roll_call;
};

nlohmann::ordered_json ToJson(const sim::RollCallOptions& options,
                              const sim::RollCallResult& result) {
  return {{"seed", options.seed},
          {"nodes", options.nodes},
          {"passed", result.verdict == sim::RollCallResult::Verdict::kPassed},
          {"failure", result.failure},
          {"trace", fmt::format("{:016x}", result.trace_hash)},
          {"events", result.events},
          {"frames", result.frames},
          {"crashes", result.crashes},
          {"restarts", result.restarts},
          {"hangs", result.hangs},
          {"partitions", result.partitions},
          {"virtual_seconds", result.virtual_seconds},
          {"seconds_to_heal", result.seconds_to_heal},
          {"replay", sim::ReplayLine(options)}};
}

std::string ToText(const sim::RollCallOptions& options, const sim::RollCallResult& result) {
  return fmt::format(
      "{} nodes, {:.1f} virtual seconds: {} crashes, {} restarts, {} hangs, {} partitions, "
      "{} frames\nall present {:.1f} s after the last fault; trace {:016x}, the same on every "
      "machine\nreplay: {}\n",
      options.nodes, result.virtual_seconds, result.crashes, result.restarts, result.hangs,
      result.partitions, result.frames, result.seconds_to_heal, result.trace_hash,
      sim::ReplayLine(options));
}

void ApplyFaults(SimOptions& options) {
  if (options.random_faults) options.roll_call.faults = sim::RandomFaults(options.roll_call.seed);
  const auto fields = sim::FaultFields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (options.fault_values[i] >= 0) {
      fields[i].Set(options.roll_call.faults, options.fault_values[i]);
    }
  }
}

Status RunSim(SimOptions options) {
  ApplyFaults(options);
  options.roll_call.duration =
      std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1e3));
  const bool narrate = !options.json && !options.quiet;
  sim::Trace::Line transcript;
  if (narrate) transcript = [](std::string_view line) { fmt::print("{}\n", line); };
  SHOAL_ASSIGN_OR_RETURN(const sim::RollCallResult result,
                         sim::RunRollCall(options.roll_call, transcript));
  fmt::print("{}", options.json ? ToJson(options.roll_call, result).dump(2) + "\n"
                                : ToText(options.roll_call, result));
  if (result.verdict == sim::RollCallResult::Verdict::kPassed) return {};
  return Status(Code::kCorruption,
                result.failure + "; replay: " + sim::ReplayLine(options.roll_call));
}

}  // namespace

void AddSim(CLI::App& app) {
  auto options = std::make_shared<SimOptions>();  // Lives as long as the callback.
  CLI::App* command = app.add_subcommand(
      "sim", "Simulate a cluster whose phones crash, hang and lose their network");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--quiet", options->quiet, "Print the result only, not every fault");
  command->add_option("--seed", options->roll_call.seed, "What everything random follows from");
  command->add_option("--nodes", options->roll_call.nodes, "How many phones")
      ->check(CLI::Range(2U, sim::kRollCallNodesMax));
  command->add_option("--seconds", options->seconds, "Virtual time in which things break")
      ->check(CLI::Range(0.0, ToSeconds(sim::kRollCallDurationMax)));
  command->add_flag("--random-faults", options->random_faults, "Some of every fault, by the seed");
  const auto fields = sim::FaultFields();
  options->fault_values.assign(fields.size(), -1);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    command->add_option("--" + std::string(fields[i].name), options->fault_values[i],
                        std::string(fields[i].help));
  }
  command->callback([options] { ExitOnError(RunSim(*options)); });
}

}  // namespace shoal
