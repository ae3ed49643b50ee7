// What an echo trial (trial.h) says about a link. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "collective/link_model.h"

namespace shoal::train {

// Bytes per second: a link on which large messages take no longer than small ones is faster than
// can be told, and counts as this.
inline constexpr double kLinkRateMax = 10e9;

// `elements` that went there and back in `seconds`, turn by turn. The best turn of each size
// counts: what disturbs a turn only makes it longer. kInvalidArgument: fewer than two sizes, or
// times that are none.
Result<collective::LinkModel> LinkOfEchoes(std::span<const std::uint64_t> elements,
                                           std::span<const double> seconds);

}  // namespace shoal::train
