#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "collective/numbers_internal.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"

namespace shoal::collective {
namespace {

// Several passes over a block stay in the first-level cache.
constexpr std::size_t kBlock = 2048;
using Scratch = std::array<float, kBlock>;

// The storage of a frame is bytes, which may hold objects of any such type; it is aligned.
std::span<const float> AsF32(std::span<const std::byte> payload) {
  return {reinterpret_cast<const float*>(payload.data()), payload.size() / sizeof(float)};
}
std::span<float> AsF32(std::span<std::byte> payload) {
  return {reinterpret_cast<float*>(payload.data()), payload.size() / sizeof(float)};
}
std::span<const std::uint16_t> AsF16(std::span<const std::byte> payload) {
  return {reinterpret_cast<const std::uint16_t*>(payload.data()), payload.size() / 2};
}
std::span<std::uint16_t> AsF16(std::span<std::byte> payload) {
  return {reinterpret_cast<std::uint16_t*>(payload.data()), payload.size() / 2};
}

template <class Body>
void ForBlocks(std::size_t count, const Body& body) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    body(begin, std::min(kBlock, count - begin));
  }
}

// NaN wins over every number.
float Larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  return std::max(a, b);
}

}  // namespace

void CopyScaled(float scale, std::span<const float> values, std::span<float> output) {
  Serial serial;
  kernels::Scale(scale, values, output, serial);
}

void WriteScaled(const Encoding& encoding, float scale, std::span<const float> values,
                 std::span<std::byte> payload) {
  if (encoding.wire == WireType::kF32) return CopyScaled(scale, values, AsF32(payload));
  Serial serial;
  Scratch scratch;
  ForBlocks(values.size(), [&](std::size_t begin, std::size_t count) {
    const std::span<float> block(scratch.data(), count);
    kernels::Scale(scale, values.subspan(begin, count), block, serial);
    kernels::Scale(encoding.up, block, block, serial);
    kernels::F16FromF32(block, AsF16(payload).subspan(begin, count), serial);
  });
}

void WriteRounded(const Encoding& encoding, std::span<float> values, std::span<std::byte> payload) {
  if (encoding.wire == WireType::kF32) {
    if (!values.empty()) std::memcpy(payload.data(), values.data(), payload.size());
    return;
  }
  WriteScaled(encoding, 1, values, payload);
  ReadPayload(encoding, payload, values);
}

void AddPayload(const Encoding& encoding, std::span<const std::byte> payload, float scale,
                std::span<const float> local, std::span<float> output) {
  if (encoding.largest) {
    const std::span<const float> came = AsF32(payload);
    for (std::size_t i = 0; i < output.size(); ++i) output[i] = Larger(came[i], scale * local[i]);
    return;
  }
  Serial serial;
  Scratch here;
  Scratch widened;
  ForBlocks(output.size(), [&](std::size_t begin, std::size_t count) {
    const std::span<float> mine(here.data(), count);
    kernels::Scale(scale, local.subspan(begin, count), mine, serial);
    const std::span<float> sum = output.subspan(begin, count);
    if (encoding.wire == WireType::kF32) {
      return kernels::Add(AsF32(payload).subspan(begin, count), mine, sum, serial);
    }
    const std::span<float> came(widened.data(), count);
    ReadPayload(encoding, payload.subspan(2 * begin, 2 * count), came);
    kernels::Add(came, mine, sum, serial);
  });
}

void ReadPayload(const Encoding& encoding, std::span<const std::byte> payload,
                 std::span<float> output) {
  if (encoding.wire == WireType::kF32) {
    if (!output.empty()) std::memcpy(output.data(), payload.data(), payload.size());
    return;
  }
  Serial serial;
  kernels::F32FromF16(AsF16(payload), output, serial);
  kernels::Scale(1 / encoding.up, output, output, serial);
}

float PowerForF16(float largest, std::size_t ranks) {
  constexpr double kLargestF16 = 65504;
  constexpr double kPowerMax = 0x1p100;  // Its inverse is a normal float, too.
  double bound = static_cast<double>(largest) * static_cast<double>(ranks);
  for (std::size_t i = 0; i < ranks; ++i) bound *= 1 + 0x1p-11;
  double power = 1;
  if (!(bound > 0) || !std::isfinite(bound)) return 1;
  while (bound * power > kLargestF16 && power > 1 / kPowerMax) power /= 2;
  while (bound * power * 2 <= kLargestF16 && power < kPowerMax) power *= 2;
  return static_cast<float>(power);
}

}  // namespace shoal::collective
