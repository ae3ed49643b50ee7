#include "base/check.h"

#include <cstdio>
#include <cstdlib>

// Models are mapped into memory, and their sizes are counted in std::size_t everywhere.
static_assert(sizeof(void*) == 8, "Shoal needs a 64-bit system: build for aarch64 or x86-64");

namespace shoal::internal {

void CheckFailed(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s%s\n", file, line, expression,
               values.empty() ? "" : " (", values.c_str(), values.empty() ? "" : ")");
  std::abort();
}

}  // namespace shoal::internal
