// `shoal bench llm`.
#pragma once

#include <CLI/CLI.hpp>

namespace shoal::bench {

void SetUpLlmCommand(CLI::App& command);

}  // namespace shoal::bench
