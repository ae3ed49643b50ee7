// Eltwise: the sum (with coefficients), product or maximum of its inputs, element by element; a sum
// may have a ReLU fused to it.
#include <utility>

#include "kernels/activation.h"
#include "kernels/row_ops.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class SumOp final : public Op {
 public:
  SumOp(const Shape& shape, std::vector<float> coefficients, bool relu)
      : coefficients_(std::move(coefficients)), relu_(relu) {
    outputs_ = {shape};
  }

  bool reads_output(std::size_t) const override { return relu_; }
  bool in_place() const override { return true; }
  std::optional<std::size_t> gradient_in_place() const override {
    // The last one to be written, so that the others have read it.
    return coefficients_.size() - 1;
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::Rows y = args.outputs[0].rows();
    if (y.data != args.inputs[0].data || coefficients_[0] != 1) {
      kernels::CombineRows(coefficients_[0], args.inputs[0].rows(), 0, y, parallel);
    }
    for (std::size_t i = 1; i < args.inputs.size(); ++i) {
      kernels::CombineRows(coefficients_[i], args.inputs[i].rows(), 1, y, parallel);
    }
    if (relu_) kernels::ReluRows({}, y, y, parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const kernels::Rows dy = args.output_gradients[0].rows();
    if (relu_) {
      kernels::ReluRowsBackward({}, args.outputs[0].rows(), dy, dy, false, parallel);
    }
    for (std::size_t i = 0; i < args.input_gradients.size(); ++i) {
      const Blob& dx = args.input_gradients[i];
      if (dx.data == nullptr || (dx.data == dy.data && coefficients_[i] == 1)) continue;
      kernels::CombineRows(coefficients_[i], dy, args.accumulate_inputs[i] ? 1.0F : 0.0F, dx.rows(),
                           parallel);
    }
  }

 private:
  std::vector<float> coefficients_;
  bool relu_;
};

class ProductOp final : public Op {
 public:
  explicit ProductOp(const Shape& shape) { outputs_ = {shape}; }

  bool reads_input(std::size_t) const override { return true; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    // The product of the others, where there are several.
    if (wants.backward && wants.input_gradients.size() > 2) {
      buffers_.backward_workspace = static_cast<std::size_t>(outputs_[0].elements());
    }
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::Rows y = args.outputs[0].rows();
    kernels::MultiplyRows(args.inputs[0].rows(), args.inputs[1].rows(), y, false, parallel);
    for (std::size_t i = 2; i < args.inputs.size(); ++i) {
      kernels::MultiplyRows(y, args.inputs[i].rows(), y, false, parallel);
    }
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    for (std::size_t i = 0; i < args.inputs.size(); ++i) {
      const Blob& dx = args.input_gradients[i];
      if (dx.data == nullptr) continue;
      kernels::MultiplyRows(args.output_gradients[0].rows(), OthersThan(i, args, parallel),
                            dx.rows(), args.accumulate_inputs[i], parallel);
    }
  }

 private:
  static kernels::ConstRows OthersThan(std::size_t skip, const BackwardArgs& args,
                                       Parallel& parallel) {
    const std::size_t first = skip == 0 ? 1 : 0;
    kernels::ConstRows product = args.inputs[first].rows();
    kernels::Rows out{args.workspace, product.rows, product.channels, product.channels};
    for (std::size_t i = first + 1; i < args.inputs.size(); ++i) {
      if (i == skip) continue;
      kernels::MultiplyRows(product, args.inputs[i].rows(), out, false, parallel);
      product = out;
    }
    return product;
  }
};

class MaxOp final : public Op {
 public:
  MaxOp(const Shape& shape, std::size_t inputs) : rows_(inputs) { outputs_ = {shape}; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    if (!wants.backward) return {};
    const auto bytes = static_cast<std::size_t>(outputs_[0].elements());
    buffers_.saved = {(bytes + sizeof(float) - 1) / sizeof(float)};
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = args.inputs[i].rows();
    kernels::MaxOfRows(rows_, args.outputs[0].rows(),
                       args.saved.empty() ? nullptr : Index(args.saved[0]), parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (args.input_gradients[i].data == nullptr) continue;
      kernels::MaxOfRowsBackward(args.output_gradients[0].rows(), Index(args.saved[0]), i,
                                 args.input_gradients[i].rows(), args.accumulate_inputs[i],
                                 parallel);
    }
  }

 private:
  // Which input it was, a byte for each element.
  static std::uint8_t* Index(float* saved) { return reinterpret_cast<std::uint8_t*>(saved); }

  std::vector<kernels::ConstRows> rows_;
};

}  // namespace

OpResult MakeEltwise(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<EltwiseDef>(link.layers.front()->op);
  for (const Shape& input : inputs) {
    if (input != inputs[0]) {
      return Status(Code::kInvalidArgument,
                    "its inputs differ: " + ToString(inputs[0]) + " and " + ToString(input));
    }
  }
  if (!def.coefficients.empty() && def.coefficients.size() != inputs.size()) {
    return Status(Code::kInvalidArgument, std::to_string(def.coefficients.size()) +
                                              " coefficients for " + std::to_string(inputs.size()) +
                                              " inputs");
  }
  if (inputs.size() > 256) return Status(Code::kInvalidArgument, "more than 256 inputs");
  switch (def.operation) {
    case EltwiseDef::Operation::kProduct:
      return OpResult(std::make_unique<ProductOp>(inputs[0]));
    case EltwiseDef::Operation::kMax:
      return OpResult(std::make_unique<MaxOp>(inputs[0], inputs.size()));
    case EltwiseDef::Operation::kSum:
      break;
  }
  std::vector<float> coefficients = def.coefficients;
  coefficients.resize(inputs.size(), 1.0F);
  return OpResult(std::make_unique<SumOp>(inputs[0], std::move(coefficients), link.relu));
}

}  // namespace shoal::nn
