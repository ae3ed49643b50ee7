// Softmax over the channels; SoftmaxWithLoss: its cross entropy with labels, normalised as the
// layer asks; Accuracy: the share of labels among the k highest scores.
#include <algorithm>
#include <utility>

#include "kernels/softmax_loss.h"
#include "nn/ops/axis.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class SoftmaxOp final : public Op {
 public:
  explicit SoftmaxOp(const Shape& shape) { outputs_ = {shape}; }
  bool reads_output(std::size_t) const override { return true; }
  bool in_place() const override { return true; }
  std::optional<std::size_t> gradient_in_place() const override { return 0; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::SoftmaxRows(args.inputs[0].rows(), args.outputs[0].rows(), parallel);
  }
  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    kernels::SoftmaxRowsBackward(args.outputs[0].rows(), args.output_gradients[0].rows(),
                                 args.input_gradients[0].rows(), args.accumulate_inputs[0],
                                 parallel);
  }
};

std::span<const float> LabelsOf(const Blob& blob) { return {blob.data, blob.elements()}; }

Status BadLabels(std::size_t bad, std::size_t classes) {
  if (bad == 0) return {};
  return Status(Code::kInvalidArgument,
                std::to_string(bad) + " labels of the batch are not among " + "the " +
                    std::to_string(classes) + " classes (0 to " + std::to_string(classes - 1) +
                    "): is num_output right for this data?");
}

class SoftmaxLossOp final : public Op {
 public:
  SoftmaxLossOp(const SoftmaxLossDef& def, const Shape& scores, bool with_probabilities)
      : def_(def), scores_(scores) {
    outputs_ = {Shape()};
    if (with_probabilities) outputs_.push_back(scores);
  }

  bool is_loss() const override { return true; }
  bool differentiable(std::size_t input) const override { return input == 0; }
  bool reads_input(std::size_t input) const override { return input == 1; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    const auto floats = static_cast<std::size_t>(scores_.elements());
    if (wants.backward) {
      buffers_.saved = {floats};
    } else {
      buffers_.forward_workspace = floats;
    }
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::Rows x = args.inputs[0].rows();
    float* data = args.saved.empty() ? args.workspace : args.saved[0];
    const kernels::Rows p{data, x.rows, x.channels, x.channels};
    kernels::SoftmaxRows(x, p, parallel);
    const kernels::LabelledSum sum =
        kernels::CrossEntropy(p, LabelsOf(args.inputs[1]), def_.ignore_label, parallel);
    normalizer_ = Normalizer(x.rows, sum.valid);
    bad_ = sum.bad;
    args.outputs[0].data[0] = static_cast<float>(sum.loss / normalizer_);
    if (args.outputs.size() > 1) kernels::SoftmaxRows(x, args.outputs[1].rows(), parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const kernels::Rows dx = args.input_gradients[0].rows();
    const auto scale = static_cast<float>(args.output_gradients[0].data[0] / normalizer_);
    kernels::CrossEntropyBackward(scale, {args.saved[0], dx.rows, dx.channels, dx.channels},
                                  LabelsOf(args.inputs[1]), def_.ignore_label, dx,
                                  args.accumulate_inputs[0], parallel);
  }

  Status last_forward() const override {
    return bad_ == 0 ? Status() : BadLabels(bad_, AsImages(scores_).channels);
  }

 private:
  double Normalizer(std::size_t rows, std::size_t valid) const {
    switch (def_.normalization) {
      case Normalization::kFull:
        return std::max(1.0, static_cast<double>(rows));
      case Normalization::kValid:
        return std::max(1.0, static_cast<double>(valid));
      case Normalization::kBatchSize:
        return std::max(1.0, static_cast<double>(scores_[0]));
      case Normalization::kNone:
        return 1;
    }
    return 1;
  }

  SoftmaxLossDef def_;
  Shape scores_;
  double normalizer_ = 1;  // Of the last Forward.
  std::size_t bad_ = 0;
};

class AccuracyOp final : public Op {
 public:
  AccuracyOp(const AccuracyDef& def, std::size_t classes) : def_(def), classes_(classes) {
    outputs_ = {Shape()};
  }

  bool differentiable(std::size_t) const override { return false; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::LabelledCount count =
        kernels::CountTopK(args.inputs[0].rows(), LabelsOf(args.inputs[1]),
                           static_cast<std::size_t>(def_.top_k), def_.ignore_label, parallel);
    bad_ = count.bad;
    args.outputs[0].data[0] =
        count.valid == 0 ? 0 : static_cast<float>(count.correct) / static_cast<float>(count.valid);
  }

  Status last_forward() const override { return bad_ == 0 ? Status() : BadLabels(bad_, classes_); }

 private:
  AccuracyDef def_;
  std::size_t classes_;
  std::size_t bad_ = 0;
};

Status CheckLabels(std::int64_t axis, std::span<const Shape> inputs) {
  SHOAL_RETURN_IF_ERROR(CheckChannelAxis(axis, inputs[0]));
  if (static_cast<std::size_t>(inputs[1].elements()) == AsImages(inputs[0]).pixels()) return {};
  return Status(Code::kInvalidArgument, "needs one label for each prediction: labels are " +
                                            ToString(inputs[1]) + ", predictions " +
                                            ToString(inputs[0]));
}

}  // namespace

OpResult MakeSoftmax(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<SoftmaxDef>(link.layers.front()->op);
  SHOAL_RETURN_IF_ERROR(CheckChannelAxis(def.axis, inputs[0]));
  return OpResult(std::make_unique<SoftmaxOp>(inputs[0]));
}

OpResult MakeSoftmaxLoss(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<SoftmaxLossDef>(link.layers.front()->op);
  SHOAL_RETURN_IF_ERROR(CheckLabels(def.axis, inputs));
  return OpResult(std::make_unique<SoftmaxLossOp>(def, inputs[0], link.outputs.size() > 1));
}

OpResult MakeAccuracy(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<AccuracyDef>(link.layers.front()->op);
  SHOAL_RETURN_IF_ERROR(CheckLabels(def.axis, inputs));
  const ImageShape scores = AsImages(inputs[0]);
  if (def.top_k < 1 || static_cast<std::size_t>(def.top_k) > scores.channels) {
    return Status(Code::kInvalidArgument, "top_k " + std::to_string(def.top_k) + " of " +
                                              std::to_string(scores.channels) + " classes");
  }
  return OpResult(std::make_unique<AccuracyOp>(def, scores.channels));
}

}  // namespace shoal::nn
