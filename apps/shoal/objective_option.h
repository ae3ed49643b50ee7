// --objective: what pipelines are to be good for.
#pragma once

#include <CLI/CLI.hpp>

#include "pipeline/planner.h"

namespace shoal {

// `objective` lives as long as `command`.
void AddObjectiveOption(CLI::App& command, pipeline::Objective& objective);

}  // namespace shoal
