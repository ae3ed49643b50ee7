// One block each; quantize.cc chooses among them.
#pragma once

#include <cstddef>

namespace shoal::kernels::internal {

void QuantizeQ4K(const float* x, std::byte* block);
void QuantizeQ5K(const float* x, std::byte* block);
void QuantizeQ6K(const float* x, std::byte* block);

}  // namespace shoal::kernels::internal
