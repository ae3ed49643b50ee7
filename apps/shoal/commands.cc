#include "shoal/commands.h"

#include <fmt/core.h>

#include <cstdio>

namespace shoal {

void ExitOnError(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "shoal: {}\n", status.message());
  throw CLI::RuntimeError(1);  // CLI11's way out of a callback.
}

}  // namespace shoal
