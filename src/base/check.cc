#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace shoal::internal {

void CheckFailed(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s%s\n", file, line, expression,
               values.empty() ? "" : " (", values.c_str(), values.empty() ? "" : ")");
  std::abort();
}

}  // namespace shoal::internal
