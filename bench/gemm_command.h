// The options of the GEMM benchmark, for bench/gemm and for `shoal bench gemm`.
#pragma once

#include <CLI/CLI.hpp>

namespace shoal::bench {

// Gives `command` its options and makes it run the benchmark and print the report.
void SetUpGemmCommand(CLI::App& command);

}  // namespace shoal::bench
