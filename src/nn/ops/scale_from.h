// What Scale and Bias share, whichever axes their numbers belong to.
#pragma once

#include <cstdint>
#include <span>

#include "nn/ops/ops.h"

namespace shoal::nn {

// Where the factor or the offset comes from.
enum class ScaleFrom : std::uint8_t { kNone, kParam, kInput };

struct BroadcastDef {
  std::int64_t axis = 1;
  std::int64_t num_axes = 1;
  ScaleFrom factor = ScaleFrom::kNone;
  ScaleFrom offset = ScaleFrom::kNone;
  Filler factor_filler = {};
  Filler offset_filler = {};
};

// y = x · factor + offset along axes from def.axis on: plain loops for what is not a number per
// channel.
OpResult MakeBroadcast(const Link& link, std::span<const Shape> inputs, const BroadcastDef& def);

}  // namespace shoal::nn
