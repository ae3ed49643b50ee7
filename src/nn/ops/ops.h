// The ops, one source each; each file says what its op computes. MakeOp chooses by the first
// layer of a link.
#pragma once

#include <memory>
#include <span>

#include "base/status.h"
#include "nn/links.h"
#include "nn/op.h"

namespace shoal::nn {

using OpResult = Result<std::unique_ptr<Op>>;

// kInvalidArgument: the shapes do not fit, or a number makes no sense; says which.
OpResult MakeOp(const Link& link, std::span<const Shape> inputs, Phase phase);

// One per kind of layer; MakeOp's parts.
OpResult MakeConvolution(const Link& link, std::span<const Shape> inputs);
OpResult MakeInnerProduct(const Link& link, std::span<const Shape> inputs);
OpResult MakePooling(const Link& link, std::span<const Shape> inputs);
OpResult MakeLrn(const Link& link, std::span<const Shape> inputs);
OpResult MakeBatchNorm(const Link& link, std::span<const Shape> inputs, Phase phase);
OpResult MakeScale(const Link& link, std::span<const Shape> inputs);
OpResult MakeBias(const Link& link, std::span<const Shape> inputs);
OpResult MakeRelu(const Link& link, std::span<const Shape> inputs);
OpResult MakeSigmoid(const Link& link, std::span<const Shape> inputs);
OpResult MakeTanh(const Link& link, std::span<const Shape> inputs);
OpResult MakeDropout(const Link& link, std::span<const Shape> inputs);
OpResult MakeConcat(const Link& link, std::span<const Shape> inputs);
OpResult MakeEltwise(const Link& link, std::span<const Shape> inputs);
OpResult MakeSlice(const Link& link, std::span<const Shape> inputs);
OpResult MakeReshape(const Link& link, std::span<const Shape> inputs);
OpResult MakeFlatten(const Link& link, std::span<const Shape> inputs);
OpResult MakeSoftmax(const Link& link, std::span<const Shape> inputs);
OpResult MakeSoftmaxLoss(const Link& link, std::span<const Shape> inputs);
OpResult MakeEuclideanLoss(const Link& link, std::span<const Shape> inputs);
OpResult MakeAccuracy(const Link& link, std::span<const Shape> inputs);

}  // namespace shoal::nn
