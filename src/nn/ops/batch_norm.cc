// BatchNorm, with the Scale, the sum of a residual block and the ReLU that follow it:
//
//   y = relu((x - mean) / sqrt(variance + eps) · γ + β + residual)
//
// Only x is kept for backward: y is computed again where somebody needs it. Statistics are Caffe's
// three blobs: decaying sums of means and of unbiased variances, and the sum of their weights.
#include "kernels/batch_norm.h"

#include <algorithm>
#include <utility>

#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class BatchNormOp final : public Op {
 public:
  BatchNormOp(const Link& link, const BatchNormDef& def, const Shape& input, Phase phase)
      : def_(def),
        channels_(AsImages(input).channels),
        rows_(AsImages(input).pixels()),
        scaled_(link.layers.size() > 1 && std::holds_alternative<ScaleDef>(link.layers[1]->op)),
        shifted_(scaled_ && std::get<ScaleDef>(link.layers[1]->op).bias),
        residual_(link.residual),
        relu_(link.relu),
        masks_(link.relu && !link.relu_masked_by_pooling),
        global_(def.use_global_stats.value_or(phase == Phase::kTest)) {
    outputs_ = {input};
  }

  void AddParam(ParamSpec spec) { params_.push_back(std::move(spec)); }

  bool reads_input(std::size_t input) const override {
    return input == 0 && (!global_ || gamma_gradient_);
  }
  bool reads_output(std::size_t) const override { return masks_; }
  bool in_place() const override { return false; }
  std::optional<std::size_t> gradient_in_place() const override { return residual_ ? 1 : 0; }
  bool cheap() const override { return true; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    gamma_gradient_ = wants.param_gradients.size() > kGamma && wants.param_gradients[kGamma];
    const std::size_t scratch = kernels::BatchNormScratchFloats(rows_, channels_);
    buffers_.forward_workspace = scratch + channels_;
    buffers_.backward_workspace = std::max(scratch, 3 * channels_) + 2 * channels_;
    buffers_.saved = {kSavedPerChannel * channels_};
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const Saved saved(args.saved[0], channels_);
    if (!args.again) FindFactors(args, saved, parallel);
    const kernels::ConstRows residual =
        residual_ ? kernels::ConstRows(args.inputs[1].rows()) : kernels::ConstRows();
    kernels::BatchNormApply(args.inputs[0].rows(), saved.scale, saved.shift, residual, relu_,
                            args.outputs[0].rows(), parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const Saved saved(args.saved[0], channels_);
    const kernels::Rows dy = args.output_gradients[0].rows();
    const kernels::ConstRows y =
        masks_ ? kernels::ConstRows(args.outputs[0].rows()) : kernels::ConstRows();
    kernels::ConstRows unmasked = y;  // Until dy has been masked in place.
    const std::span<float> sum_dy(args.workspace, channels_);
    const std::span<float> sum_dy_xhat(args.workspace + channels_, channels_);
    const std::span<float> scratch(args.workspace + 2 * channels_,
                                   buffers_.backward_workspace - 2 * channels_);
    if (!global_ || WantsScaleGradients(args)) {
      kernels::Rows masked;
      bool accumulate = false;
      if (residual_ && args.input_gradients[1].data != nullptr) {
        masked = args.input_gradients[1].rows();
        accumulate = args.accumulate_inputs[1];
      }
      kernels::BatchNormBackwardSums({.x = args.inputs[0].rows(),
                                      .dy = dy,
                                      .y = y,
                                      .mean = saved.mean,
                                      .inv_std = saved.inv_std,
                                      .masked = masked,
                                      .accumulate_masked = accumulate,
                                      .sum_dy = sum_dy,
                                      .sum_dy_xhat = sum_dy_xhat},
                                     scratch, parallel);
      if (masked.data == dy.data) unmasked = {};
      AddScaleGradients(args, sum_dy, sum_dy_xhat);
    } else if (residual_ && args.input_gradients[1].data != nullptr) {
      kernels::BatchNormBackwardFrozen(dy, y, ones(), args.input_gradients[1].rows(),
                                       args.accumulate_inputs[1], parallel);
      if (args.input_gradients[1].data == dy.data) unmasked = {};
    }
    if (args.input_gradients[0].data == nullptr) return;
    const kernels::Rows dx = args.input_gradients[0].rows();
    if (global_) {
      kernels::BatchNormBackwardFrozen(dy, unmasked, saved.scale, dx, args.accumulate_inputs[0],
                                       parallel);
      return;
    }
    const std::span<const float> gamma =
        scaled_ ? std::span<const float>(args.params[kGamma], channels_) : std::span<const float>();
    kernels::BatchNormBackwardApply({.x = args.inputs[0].rows(),
                                     .dy = dy,
                                     .y = unmasked,
                                     .mean = saved.mean,
                                     .inv_std = saved.inv_std,
                                     .gamma = gamma,
                                     .sum_dy = sum_dy,
                                     .sum_dy_xhat = sum_dy_xhat,
                                     .dx = dx,
                                     .accumulate = args.accumulate_inputs[0]},
                                    scratch, parallel);
  }

 private:
  // Positions of the parameters: BatchNorm's own three, then Scale's.
  enum : std::size_t { kMean, kVariance, kFactor, kGamma, kBeta };
  static constexpr std::size_t kSavedPerChannel = 4;

  struct Saved {
    Saved(float* data, std::size_t channels)
        : mean(data, channels),
          inv_std(data + channels, channels),
          scale(data + 2 * channels, channels),
          shift(data + 3 * channels, channels) {}
    std::span<float> mean, inv_std, scale, shift;
  };

  std::span<const float> ones() {
    ones_.resize(channels_, 1.0F);
    return ones_;
  }

  bool WantsScaleGradients(const BackwardArgs& args) const {
    return scaled_ && args.param_gradients[kGamma] != nullptr;
  }

  void FindFactors(const ForwardArgs& args, const Saved& saved, Parallel& parallel) {
    const std::span<float> variance(args.workspace, channels_);
    const std::span<float> scratch(args.workspace + channels_,
                                   buffers_.forward_workspace - channels_);
    if (global_) {
      ReadStatistics(args, saved.mean, variance);
    } else {
      kernels::BatchMeanVariance(args.inputs[0].rows(), saved.mean, variance, scratch, parallel);
      UpdateStatistics(args, saved.mean, variance);
    }
    const auto param = [&](bool there, std::size_t index) {
      return there ? std::span<const float>(args.params[index], channels_)
                   : std::span<const float>();
    };
    kernels::BatchNormFactors(saved.mean, variance, def_.eps, param(scaled_, kGamma),
                              param(shifted_, kBeta), saved.inv_std, saved.scale, saved.shift);
  }

  void ReadStatistics(const ForwardArgs& args, std::span<float> mean,
                      std::span<float> variance) const {
    const float weight = args.params[kFactor][0];
    const float factor = weight == 0 ? 0 : 1 / weight;
    for (std::size_t c = 0; c < channels_; ++c) {
      mean[c] = args.params[kMean][c] * factor;
      variance[c] = args.params[kVariance][c] * factor;
    }
  }

  void UpdateStatistics(const ForwardArgs& args, std::span<const float> mean,
                        std::span<const float> variance) const {
    const float fraction = def_.moving_average_fraction;
    const auto rows = static_cast<float>(rows_);
    const float unbiased = rows_ > 1 ? rows / (rows - 1) : 1;
    args.params[kFactor][0] = args.params[kFactor][0] * fraction + 1;
    for (std::size_t c = 0; c < channels_; ++c) {
      args.params[kMean][c] = args.params[kMean][c] * fraction + mean[c];
      args.params[kVariance][c] = args.params[kVariance][c] * fraction + unbiased * variance[c];
    }
  }

  void AddScaleGradients(const BackwardArgs& args, std::span<const float> sum_dy,
                         std::span<const float> sum_dy_xhat) const {
    const auto add = [&](std::size_t index, std::span<const float> sums) {
      if (params_.size() <= index || args.param_gradients[index] == nullptr) return;
      float* gradient = args.param_gradients[index];
      for (std::size_t c = 0; c < channels_; ++c) {
        gradient[c] = args.accumulate_params[index] ? gradient[c] + sums[c] : sums[c];
      }
    };
    add(kGamma, sum_dy_xhat);
    add(kBeta, sum_dy);
  }

  BatchNormDef def_;
  std::size_t channels_;
  std::size_t rows_;
  bool scaled_;
  bool shifted_;
  bool residual_;
  bool relu_;
  bool masks_;   // Whether the ReLU's gradient is ours to apply.
  bool global_;  // Whether the statistics are those of the model, not of the batch.
  bool gamma_gradient_ = false;
  std::vector<float> ones_;
};

}  // namespace

OpResult MakeBatchNorm(const Link& link, std::span<const Shape> inputs, Phase phase) {
  const LayerDef& layer = *link.layers.front();
  const auto& def = std::get<BatchNormDef>(layer.op);
  const Shape& input = inputs[0];
  if (input.rank() != 4 && input.rank() != 2) {
    return Status(Code::kInvalidArgument,
                  "BatchNorm needs (N, C) or (N, C, H, W), not " + ToString(input));
  }
  if (link.residual && inputs[1] != input) {
    return Status(Code::kInvalidArgument,
                  "cannot add " + ToString(inputs[1]) + " to " + ToString(input));
  }
  auto op = std::make_unique<BatchNormOp>(link, def, input, phase);
  const std::int64_t channels = input[1];
  for (std::size_t i = 0; i < 3; ++i) {
    ParamDef param = i < layer.params.size() ? layer.params[i] : ParamDef{};
    param.lr_mult = 0;
    param.decay_mult = 0;
    op->AddParam({.layer = layer.name,
                  .index = i,
                  .layout = ParamLayout::Plain({i == 2 ? 1 : channels}),
                  .filler = {},
                  .def = param,
                  .statistics = true});
  }
  if (link.layers.size() > 1) {
    if (const auto* scale = std::get_if<ScaleDef>(&link.layers[1]->op)) {
      const LayerDef& owner = *link.layers[1];
      for (std::size_t i = 0; i < (scale->bias ? 2U : 1U); ++i) {
        op->AddParam({.layer = owner.name,
                      .index = i,
                      .layout = ParamLayout::Plain({channels}),
                      .filler = i == 0 ? scale->filler : scale->bias_filler,
                      .def = i < owner.params.size() ? owner.params[i] : ParamDef{}});
      }
    }
  }
  return OpResult(std::move(op));
}

}  // namespace shoal::nn
