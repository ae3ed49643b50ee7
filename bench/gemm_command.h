// The options of the GEMM benchmark, for bench/gemm and for `shoal bench gemm`.
#pragma once

namespace CLI {
class App;
}

namespace shoal::bench {

// Gives `command` its options and makes it run the benchmark and print the report.
void SetUpGemmCommand(CLI::App& command);

}  // namespace shoal::bench
