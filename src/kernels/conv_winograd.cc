#include "kernels/conv_winograd.h"

#include <memory>

#include "kernels/winograd_tile_conv.h"
#include "kernels/winograd_weight_grad.h"

namespace shoal::kernels {
namespace {

// Narrower groups leave most lanes of a vector empty.
constexpr std::size_t kGroupChannelsMin = 4;

bool Supports(const ConvShape& shape) {
  return shape.kernel_h == 3 && shape.kernel_w == 3 && shape.stride_h == 1 && shape.stride_w == 1 &&
         shape.dilation_h == 1 && shape.dilation_w == 1 && shape.pad_h <= 2 && shape.pad_w <= 2 &&
         shape.batch > 0 && shape.channels / shape.groups >= kGroupChannelsMin &&
         shape.outputs / shape.groups >= kGroupChannelsMin;
}

ConvShape OneGroup(ConvShape shape) {
  shape.channels /= shape.groups;
  shape.outputs /= shape.groups;
  shape.groups = 1;
  return shape;
}

// The convolution that makes dx of dy: padding adds up to 2.
ConvShape TurnedAround(const ConvShape& shape) {
  ConvShape turned = shape;
  turned.height = shape.out_height();
  turned.width = shape.out_width();
  turned.channels = shape.outputs;
  turned.outputs = shape.channels;
  turned.pad_h = 2 - shape.pad_h;
  turned.pad_w = 2 - shape.pad_w;
  return turned;
}

// Groups come one after the other, in the same workspace.

template <std::size_t kSide>
class Forward final : public ConvForward {
 public:
  Forward(const ConvShape& shape, const ConvOptions& options)
      : groups_(shape.groups),
        group_(OneGroup(shape)),
        conv_(kSide, group_, {.stride = shape.outputs}, options) {}

  std::size_t workspace_floats() const override { return conv_.workspace_floats(); }
  void Run(const ConvForwardArgs& args, float* workspace, Parallel& parallel) override {
    for (std::size_t g = 0; g < groups_; ++g) {
      const float* bias = args.bias == nullptr ? nullptr : args.bias + g * group_.outputs;
      conv_.Run({.x = args.x + g * group_.channels,
                 .x_stride = args.x_stride,
                 .w = args.w + g * group_.outputs,
                 .y = args.y + g * group_.outputs,
                 .y_stride = args.y_stride,
                 .end = {.bias = bias, .relu = args.relu}},
                workspace, parallel);
    }
  }

 private:
  const std::size_t groups_;
  const ConvShape group_;
  const WinogradTileConv conv_;
};

template <std::size_t kSide>
class BackwardData final : public ConvBackwardData {
 public:
  BackwardData(const ConvShape& shape, const ConvOptions& options)
      : groups_(shape.groups),
        group_(OneGroup(shape)),
        conv_(kSide, TurnedAround(group_), {.stride = shape.outputs, .turned = true}, options) {}

  std::size_t workspace_floats() const override { return conv_.workspace_floats(); }
  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& parallel) override {
    for (std::size_t g = 0; g < groups_; ++g) {
      conv_.Run({.x = args.dy + g * group_.outputs,
                 .x_stride = args.dy_stride,
                 .w = args.w + g * group_.outputs,
                 .y = args.dx + g * group_.channels,
                 .y_stride = args.dx_stride,
                 .end = {.accumulate = args.accumulate}},
                workspace, parallel);
    }
  }

 private:
  const std::size_t groups_;
  const ConvShape group_;
  const WinogradTileConv conv_;
};

template <std::size_t kSide>
class BackwardWeights final : public ConvBackwardWeights {
 public:
  BackwardWeights(const ConvShape& shape, const ConvOptions& options)
      : groups_(shape.groups),
        group_(OneGroup(shape)),
        grad_(kSide, group_, shape.outputs, options) {}

  std::size_t workspace_floats() const override { return grad_.workspace_floats(); }
  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    for (std::size_t g = 0; g < groups_; ++g) {
      ConvBackwardWeightsArgs group = args;
      group.x += g * group_.channels;
      group.dy += g * group_.outputs;
      group.dw += g * group_.outputs;
      if (group.dbias != nullptr) group.dbias += g * group_.outputs;
      grad_.Run(group, workspace, parallel);
    }
  }

 private:
  const std::size_t groups_;
  const ConvShape group_;
  const WinogradWeightGrad grad_;
};

template <class Base, class Pass>
std::unique_ptr<Base> Make(const ConvShape& shape, const ConvOptions& options) {
  if (!Supports(shape)) return nullptr;
  return std::make_unique<Pass>(shape, options);
}

template <std::size_t kSide>
constexpr ConvImplementation Row(std::string_view name) {
  return {.name = name,
          .portable = true,
          .forward = &Make<ConvForward, Forward<kSide>>,
          .backward_data = &Make<ConvBackwardData, BackwardData<kSide>>,
          .backward_weights = &Make<ConvBackwardWeights, BackwardWeights<kSide>>};
}

}  // namespace

constexpr ConvImplementation kWinogradF2 = Row<2>("winograd-f2");
constexpr ConvImplementation kWinogradF4 = Row<4>("winograd-f4");

}  // namespace shoal::kernels
