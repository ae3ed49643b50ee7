// Axes as files write them, and which of them our memory order can work along: the channels, which
// are the columns of a blob's matrix, and the first axis, which is some of its rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "tensor/shape.h"

namespace shoal::nn {

// The axis that the columns of a blob's matrix are: C of images, else the last.
inline std::size_t ChannelAxis(const Shape& shape) {
  return shape.rank() == 4 ? 1 : (shape.rank() == 0 ? 0 : shape.rank() - 1);
}

// Negative axes count from the end. kInvalidArgument: there is no such axis.
inline Result<std::size_t> ResolveAxis(std::int64_t axis, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank) {
    return Status(Code::kInvalidArgument,
                  "axis " + std::to_string(axis) + " does not exist in " + ToString(shape));
  }
  return static_cast<std::size_t>(resolved);
}

// As above, and refuses every axis but the channels.
inline Status CheckChannelAxis(std::int64_t axis, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const std::size_t resolved, ResolveAxis(axis, shape));
  if (resolved == ChannelAxis(shape)) return {};
  return Status(Code::kInvalidArgument, "axis " + std::to_string(axis) + " of " + ToString(shape) +
                                            " is not supported: only the channels (axis " +
                                            std::to_string(ChannelAxis(shape)) + ") are");
}

}  // namespace shoal::nn
