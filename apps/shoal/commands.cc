#include "shoal/commands.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdio>

#include "kernels/target.h"

namespace shoal {

std::string SlowKernelsWarning() {
  if (kernels::BestTarget() != kernels::Target::kRef) return {};
  return "this CPU lacks the vector instructions our kernels use (AVX2 with FMA, or NEON): "
         "everything works, slowly";
}

void ExitOnError(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "shoal: {}\n", status.message());
  throw CLI::RuntimeError(1);  // CLI11's way out of a callback.
}

}  // namespace shoal
