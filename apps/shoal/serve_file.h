// Where a head that runs can be reached: DIR/serve.json, written by `shoal serve` for commands on
// the same machine.
#pragma once

#include <string>

#include "base/status.h"

namespace shoal {

struct ServeAddresses {
  std::string cluster;
  std::string enrol;
  std::string http;  // Empty: it trains, and answers nobody.
};

Status WriteServeFile(const std::string& home, const ServeAddresses& addresses);
// kNotFound: no head was started there.
Result<ServeAddresses> ReadServeFile(const std::string& home);
void RemoveServeFile(const std::string& home);

}  // namespace shoal
