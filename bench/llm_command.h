// `shoal bench llm`.
#pragma once

namespace CLI {
class App;
}

namespace shoal::bench {

void SetUpLlmCommand(CLI::App& command);

}  // namespace shoal::bench
