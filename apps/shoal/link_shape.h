// --delay-ms and --megabits: links as slow as one wants, for trials on one machine.
#pragma once

#include "os/net/shaped_network.h"

namespace CLI {
class App;
}

namespace shoal {

void AddLinkShapeOptions(CLI::App& command, os::LinkShape& shape);

}  // namespace shoal
