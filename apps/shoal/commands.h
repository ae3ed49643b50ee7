// The subcommands of `shoal`, one file each. A function adds its command with its
// options to `app`; the command runs inside app.parse(). One that fails says why on
// stderr and throws CLI::RuntimeError(exit code), which is how CLI11 leaves a callback.
// Every command that has a result takes --json.
#pragma once

#include <CLI/CLI.hpp>

namespace shoal {

// `shoal version`: what this binary is, for bug reports.
void AddVersion(CLI::App& app);

}  // namespace shoal
