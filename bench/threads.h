// The pool that benchmarks compute on, as the program itself would plan it.
#pragma once

#include <cstddef>
#include <memory>

#include "base/parallel.h"

namespace shoal::bench {

// Does not pin the calling thread: threads that a peer starts later would inherit its
// one core, and the comparison would be won by that.
std::unique_ptr<Parallel> MakePool(std::size_t threads);

}  // namespace shoal::bench
