#include "bench/conv_runner.h"

#include <memory>

#include "base/random.h"

namespace shoal::bench {
namespace {

using kernels::ConvImplementation;
using kernels::ConvShape;

void Fill(kernels::FloatScratch& scratch, std::size_t count, std::uint64_t seed) {
  float* values = scratch.Reserve(count);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.Unit() - 0.5);
}

template <class Args>
std::function<void()> Runner(std::shared_ptr<kernels::ConvPass<Args>> pass, const Args& args,
                             Parallel& parallel) {
  if (pass == nullptr) return nullptr;
  auto workspace = std::make_shared<kernels::FloatScratch>();
  float* floats = workspace->Reserve(pass->workspace_floats());
  return [=, &parallel] {
    (void)workspace;
    pass->Run(args, floats, parallel);
  };
}

}  // namespace

std::string_view KindName(ConvPassKind kind) {
  switch (kind) {
    case ConvPassKind::kForward:
      return "fwd";
    case ConvPassKind::kBackwardData:
      return "bwd-data";
    case ConvPassKind::kBackwardWeights:
      return "bwd-weights";
  }
  return "";
}

ConvBlobs::ConvBlobs(const ConvShape& shape) : shape_(shape) {
  Fill(x_, shape.in_pixels() * shape.channels, 1);
  Fill(y_, shape.out_pixels() * shape.outputs, 2);
  Fill(w_, shape.weights(), 3);
}

kernels::ConvForwardArgs ConvBlobs::Forward() {
  return {.x = x_.data(),
          .x_stride = shape_.channels,
          .w = w_.data(),
          .y = y_.Reserve(0),
          .y_stride = shape_.outputs};
}

kernels::ConvBackwardDataArgs ConvBlobs::BackwardData() {
  return {.dy = y_.data(),
          .dy_stride = shape_.outputs,
          .w = w_.data(),
          .dx = x_.Reserve(0),
          .dx_stride = shape_.channels};
}

kernels::ConvBackwardWeightsArgs ConvBlobs::BackwardWeights() {
  return {.x = x_.data(),
          .x_stride = shape_.channels,
          .dy = y_.data(),
          .dy_stride = shape_.outputs,
          .dw = w_.Reserve(0)};
}

std::function<void()> MakeConvRun(const ConvImplementation& row, const ConvShape& shape,
                                  ConvPassKind kind, ConvBlobs& blobs, Parallel& parallel,
                                  kernels::Target target) {
  // A GEMM for each of hundreds of channels: right, and of no interest.
  if (shape.groups > 16 && row.name == "implicit-gemm") return nullptr;
  const kernels::ConvOptions options{.workers = parallel.workers(), .target = target};
  const auto make = [&]<class Args>(auto* factory, const Args& args) -> std::function<void()> {
    if (factory == nullptr) return nullptr;
    return Runner<Args>(factory(shape, options), args, parallel);
  };
  switch (kind) {
    case ConvPassKind::kForward:
      return make(row.forward, blobs.Forward());
    case ConvPassKind::kBackwardData:
      return make(row.backward_data, blobs.BackwardData());
    case ConvPassKind::kBackwardWeights:
      return make(row.backward_weights, blobs.BackwardWeights());
  }
  return nullptr;
}

}  // namespace shoal::bench
