// A phone's program has no `shoal up`: Android kills the child processes of apps.
#include <CLI/CLI.hpp>

#include "shoal/commands.h"

namespace shoal {

void AddUp(CLI::App& app) {
  app.add_subcommand("up", "A cluster of processes on one machine; on a PC only")->callback([] {
    ExitOnError(
        {Code::kUnavailable, "`shoal up` is for PCs: Android kills the child processes of apps"});
  });
}

}  // namespace shoal
