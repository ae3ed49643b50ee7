// `shoal status`: the cluster at a glance, live on a terminal. Speaks to the head that runs on this
// machine.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/time.h"
#include "os/wall_clock.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/head_call.h"
#include "shoal/screen_terminal.h"
#include "shoal/status_view.h"

namespace shoal {
namespace {

constexpr const char* kStatusPath = "/shoal/status";
constexpr Duration kRedraw = std::chrono::seconds(1);

struct StatusOptions {
  std::string dir;
  bool json = false;
  bool once = false;
};

// Until somebody presses q. A head that is away for a moment is waited for.
Status Watch(const StatusOptions& options) {
  ScreenTerminal terminal;
  do {
    const TerminalSize size = terminal.size();
    const Result<nlohmann::json> report = CallHead(options.dir, kStatusPath);
    terminal.Draw(report.ok() ? ShowStatus(*report, {.columns = size.columns,
                                                     .rows = size.rows - 1,
                                                     .color = true,
                                                     .time_of_day = os::LocalTimeOfDay})
                              : std::string(report.status().message()) + "\n");
  } while (!terminal.QuitWithin(kRedraw));
  return {};
}

Status ShowCluster(const StatusOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const nlohmann::json report, CallHead(options.dir, kStatusPath));
  if (options.json) {
    fmt::print("{}\n", report.dump(2));
    return {};
  }
  if (!options.once && IsScreen()) return Watch(options);
  fmt::print("{}",
             ShowStatus(report, {.columns = ScreenColumns(), .time_of_day = os::LocalTimeOfDay}));
  return {};
}

}  // namespace

void AddStatus(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command =
      app.add_subcommand("status", "The cluster: nodes, speed, heat, energy, events; q ends it");
  AddDirOption(*command, options->dir);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_flag("--once", options->once, "Print it once, also on a terminal");
  command->callback([options] { ExitOnError(ShowCluster(*options)); });
}

}  // namespace shoal
