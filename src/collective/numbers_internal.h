// Numbers from memory into frames and back. For all: spans fit each other; a NaN that is computed
// is 0x7fc00000 (kernels/elementwise.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/communicator.h"

namespace shoal::collective {

struct Encoding {
  WireType wire = WireType::kF32;
  float up = 1;  // F16: a power of two; numbers are multiplied by it before they are rounded.
  bool largest = false;  // Instead of sums.
};

// payload = scale · values
void WriteScaled(const Encoding& encoding, float scale, std::span<const float> values,
                 std::span<std::byte> payload);
// payload = values. In F16 `values` are rounded, too: to what the others will read.
void WriteRounded(const Encoding& encoding, std::span<float> values, std::span<std::byte> payload);
// output = payload + scale · local, each one IEEE operation. `local` may be `output`.
void AddPayload(const Encoding& encoding, std::span<const std::byte> payload, float scale,
                std::span<const float> local, std::span<float> output);
// output = payload
void ReadPayload(const Encoding& encoding, std::span<const std::byte> payload,
                 std::span<float> output);
// output = scale · values
void CopyScaled(float scale, std::span<const float> values, std::span<float> output);

// The largest power of two that brings a sum of `ranks` numbers up to `largest`, rounded to F16
// after each addition, into the range of F16. 1 for what is not finite: nothing would help.
float PowerForF16(float largest, std::size_t ranks);

}  // namespace shoal::collective
