// The options of `shoal bench blas`.
#pragma once

#include <CLI/CLI.hpp>

namespace shoal::bench {

// Gives `command` its options and makes it run the benchmark and print the report.
void SetUpBlasCommand(CLI::App& command);

}  // namespace shoal::bench
