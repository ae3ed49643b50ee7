#include "shoal/compute.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "os/file.h"
#include "os/machine/machine_info.h"
#include "os/pool_plan.h"

namespace shoal {
namespace {

// Empty if the environment names no place.
std::string CachePath() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/shoal/conv.txt";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/shoal/conv.txt";
  }
  return {};
}

std::string DeviceName(const os::CpuInfo& cpu) {
  if (!cpu.chip.empty()) return cpu.chip;
  return cpu.cores.front().model.empty() ? "unknown" : cpu.cores.front().model;
}

void Warn(const Status& status) {
  if (!status.ok()) fmt::print(stderr, "shoal: {} (going on without it)\n", status.message());
}

Status LoadTimes(const std::string& path, nn::ConvTuner& tuner) {
  const Result<std::string> text = os::ReadFile(path, nn::kConvTimesBytesMax);
  if (!text.ok()) return text.status().code() == Code::kNotFound ? Status() : text.status();
  return tuner.Load(*text).Annotate(path);
}

}  // namespace

void AddComputeOptions(CLI::App& command, ComputeOptions& options) {
  command.add_option("--threads", options.threads, "Compute with this many threads")
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  command.add_option("--backend", options.backend,
                     "Convolutions by: auto (the fastest here), portable (what a phone runs), or "
                     "the name of one implementation");
  command.add_flag("--retune", options.retune, "Measure again which convolutions are fastest");
}

Result<KeptTuner> KeptTuner::Make(const ComputeOptions& options, Parallel& parallel,
                                  nn::ConvTuner::Seconds now) {
  const os::MachineInfo machine = os::ReadMachineInfo(os::SysRoot());
  KeptTuner kept;
  SHOAL_ASSIGN_OR_RETURN(kept.tuner_,
                         nn::ConvTuner::Make({.backend = options.backend,
                                              .device = DeviceName(machine.cpu),
                                              .build = SHOAL_VERSION " " SHOAL_COMPILER,
                                              .bytes_max = options.bytes_max},
                                             parallel, std::move(now)));
  kept.path_ = CachePath();
  if (!options.retune && !kept.path_.empty()) Warn(LoadTimes(kept.path_, *kept.tuner_));
  return kept;
}

void KeptTuner::Save() {
  if (path_.empty() || tuner_->measured() == saved_tuned_) return;
  saved_tuned_ = tuner_->measured();
  std::error_code error;  // Told of by the write that follows.
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  Warn(os::WriteFileAtomically(path_, tuner_->Save(), os::FileAccess::kEveryone));
}

Result<std::unique_ptr<Compute>> Compute::Make(const ComputeOptions& options) {
  const os::MachineInfo machine = os::ReadMachineInfo(os::SysRoot());
  std::unique_ptr<Compute> compute(
      new Compute(os::PlanPool(machine.cpu, {.threads = options.threads})));
  SHOAL_ASSIGN_OR_RETURN(compute->kept_,
                         KeptTuner::Make(options, compute->pool_, [&loop = compute->loop_] {
                           return ToSeconds(loop.Now().since_origin);
                         }));
  compute->pool_.PinCaller();
  return compute;
}

Result<std::uint64_t> ParseBytes(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  std::string_view suffix(unit, static_cast<std::size_t>(end - unit));
  if (suffix.ends_with('B') || suffix.ends_with('b')) suffix.remove_suffix(1);
  if (suffix.ends_with('i')) suffix.remove_suffix(1);
  double factor = suffix.empty() ? 1 : 0;
  if (suffix == "K" || suffix == "k") factor = 0x1p10;
  if (suffix == "M" || suffix == "m") factor = 0x1p20;
  if (suffix == "G" || suffix == "g") factor = 0x1p30;
  const double bytes = number * factor;
  if (error != std::errc() || !(bytes >= 1 && bytes < 0x1p50)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("'{}' is no amount of memory: write 512M or 2.8G", text));
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace shoal
