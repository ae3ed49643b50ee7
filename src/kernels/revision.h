// Which arithmetic this binary computes. Nodes of one cluster must agree on it, because
// the work of one is checked against, and continued by, another.
#pragma once

#include <cstdint>

namespace shoal::kernels {

// Raised with every change of the bits that some kernel gives; the hashes in
// arithmetic_hash_test.cc and gemm_test.cc notice such a change.
inline constexpr std::uint32_t kKernelRevision = 1;

}  // namespace shoal::kernels
