#include "train/unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/exact_sums.h"

namespace shoal::train {
namespace {

constexpr std::int64_t kUnitsWanted = 16;

}  // namespace

std::int64_t DefaultUnit(std::int64_t batch) {
  std::int64_t unit = std::max<std::int64_t>(batch / kUnitsWanted, 1);
  while (batch % unit != 0) --unit;
  return unit;
}

Status CheckUnit(std::int64_t unit, std::int64_t batch) {
  if (unit < 1 || batch % unit != 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("units of {} images do not divide a batch of {}: choose --unit so "
                              "that they do",
                              unit, batch));
  }
  if (batch / unit <= nn::ExactSums::kUnitsMax) return {};
  return Status(
      Code::kInvalidArgument,
      fmt::format("a batch of {} images in units of {}: these are too many units", batch, unit));
}

std::uint64_t UnitNumber(data::Cursor first) { return (first.epoch << 40U) + first.position; }

}  // namespace shoal::train
