// One block each; dequantize.cc chooses among them.
#pragma once

#include <cstddef>

namespace shoal::kernels::internal {

// dequantize_k.cc
void DequantizeQ2K(const std::byte* block, float* out);
void DequantizeQ3K(const std::byte* block, float* out);
void DequantizeQ4K(const std::byte* block, float* out);
void DequantizeQ5K(const std::byte* block, float* out);
void DequantizeQ6K(const std::byte* block, float* out);

// dequantize_iq.cc
void DequantizeIQ2XXS(const std::byte* block, float* out);
void DequantizeIQ2XS(const std::byte* block, float* out);
void DequantizeIQ2S(const std::byte* block, float* out);
void DequantizeIQ3XXS(const std::byte* block, float* out);
void DequantizeIQ3S(const std::byte* block, float* out);
void DequantizeIQ4NL(const std::byte* block, float* out);
void DequantizeIQ4XS(const std::byte* block, float* out);

}  // namespace shoal::kernels::internal
