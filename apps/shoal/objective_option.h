// --objective: what pipelines are to be good for.
#pragma once

#include "pipeline/planner.h"

namespace CLI {
class App;
}

namespace shoal {

// `objective` lives as long as `command`.
void AddObjectiveOption(CLI::App& command, pipeline::Objective& objective);

}  // namespace shoal
