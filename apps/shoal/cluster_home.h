// What the commands around membership share: where a cluster's files are, which ports it
// uses, and what a device is called.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace CLI {
class App;
}

namespace shoal {

// Where members dial the head, and where new ones knock. Unregistered, and outside of the
// range that systems take ephemeral ports from.
inline constexpr std::uint16_t kClusterPort = 7400;
inline constexpr std::uint16_t kEnrolPort = 7401;

// --dir.
void AddDirOption(CLI::App& command, std::string& dir);

// `dir`, or $SHOAL_HOME, or ~/.shoal. kInvalidArgument: none of them is known.
Result<std::string> ClusterHome(const std::string& dir);

// Of it, the part where layers are (os/flash/layer_directory.h).
std::string CacheDirectory(const std::string& home);

// This device's host name, or what its firmware calls it where that says nothing (phones
// are all called "localhost").
std::string DefaultDeviceName();

}  // namespace shoal
