// LocalWorkers: processes of this program on this machine that join a training's cluster, for
// trying it out and for machines with many cores. Phones have none: Android kills the children of
// apps.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal {

struct LocalWorkersOptions {
  std::size_t count = 0;
  std::size_t threads = 1;           // Of each.
  std::string dir;                   // Of all of them; each has a folder in it.
  std::string enrol;                 // Where they knock, …
  std::string token;                 // … with this.
  std::string memory;                // Of each; empty: most of what is free.
  std::vector<std::string> options;  // "2=--duty 0.3": more for one of them.
  std::vector<std::string> options_of_all = {};
  bool quiet = false;  // Neither they nor their start are to be seen, but for errors.
};

class LocalWorkers {
 public:
  virtual ~LocalWorkers() = default;  // Kills them.

  // Lines about those that have ended since the last call.
  virtual std::vector<std::string> TakeEnded() = 0;
  virtual std::size_t running() const = 0;
};

Result<std::unique_ptr<LocalWorkers>> StartLocalWorkers(const LocalWorkersOptions& options);

}  // namespace shoal
