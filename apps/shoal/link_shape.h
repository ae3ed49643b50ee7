// --delay-ms and --megabits: links as slow as one wants, for trials on one machine.
#pragma once

#include <CLI/CLI.hpp>

#include "os/net/shaped_network.h"

namespace shoal {

void AddLinkShapeOptions(CLI::App& command, os::LinkShape& shape);

}  // namespace shoal
