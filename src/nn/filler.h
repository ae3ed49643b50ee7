// Fill: how parameters start, by Caffe's rules. The numbers are a function of (seed, stream), the
// same on every machine.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "nn/net_def.h"
#include "tensor/shape.h"

namespace shoal::nn {

// Fills the elements of a parameter of `shape`, in the file's order. kInvalidArgument: the filler
// cannot fill such a shape (says why). REQUIRES: out.size() == shape.elements().
Status Fill(const Filler& filler, const Shape& shape, std::uint64_t seed, std::uint64_t stream,
            std::span<float> out);

}  // namespace shoal::nn
