// The options of `shoal bench blas`.
#pragma once

namespace CLI {
class App;
}

namespace shoal::bench {

// Gives `command` its options and makes it run the benchmark and print the report.
void SetUpBlasCommand(CLI::App& command);

}  // namespace shoal::bench
