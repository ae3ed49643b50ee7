// Scale and Bias whose numbers belong to any run of axes, not to the channels alone: rare, so plain
// loops do.
#include <utility>

#include "nn/ops/axis.h"
#include "nn/ops/ops.h"
#include "nn/ops/scale_from.h"

namespace shoal::nn {
namespace {

// How far apart neighbours along each axis lie in memory.
std::vector<std::size_t> StridesOf(const Shape& shape) {
  const auto at = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  if (shape.rank() == 4) return {at(1) * at(2) * at(3), 1, at(1) * at(3), at(1)};
  std::vector<std::size_t> strides(shape.rank(), 1);
  for (std::size_t i = shape.rank(); i-- > 1;) strides[i - 1] = strides[i] * at(i);
  return strides;
}

class BroadcastOp final : public Op {
 public:
  BroadcastOp(const Shape& input, std::size_t axis, const Shape& part, ScaleFrom factor,
              ScaleFrom offset)
      : factor_(factor), offset_(offset), x_strides_(StridesOf(input)) {
    outputs_ = {input};
    part_strides_.resize(input.rank(), 0);
    const std::vector<std::size_t> strides = StridesOf(part);
    std::copy(strides.begin(), strides.end(),
              part_strides_.begin() + static_cast<std::ptrdiff_t>(axis));
    part_elements_ = static_cast<std::size_t>(part.elements());
  }

  void AddParam(ParamSpec spec) { params_.push_back(std::move(spec)); }

  bool reads_input(std::size_t) const override { return factor_ != ScaleFrom::kNone; }
  bool strided_outputs() const override { return false; }

  void Forward(const ForwardArgs& args, Parallel&) override {
    const float* x = args.inputs[0].data;
    float* y = args.outputs[0].data;
    const float* factor = Find(factor_, args, 0);
    const float* offset = Find(offset_, args, offset_param());
    ForEach([&](std::size_t i, std::size_t p) {
      y[i] = x[i] * (factor == nullptr ? 1 : factor[p]) + (offset == nullptr ? 0 : offset[p]);
    });
  }

  void Backward(const BackwardArgs& args, Parallel&) override {
    const float* dy = args.output_gradients[0].data;
    const float* factor = Find(factor_, args, 0);
    AddGradient(factor_, 0, args, [&](std::size_t i) { return dy[i] * args.inputs[0].data[i]; });
    AddGradient(offset_, offset_param(), args, [&](std::size_t i) { return dy[i]; });
    float* dx = args.input_gradients[0].data;
    if (dx == nullptr) return;
    const bool accumulate = args.accumulate_inputs[0];
    ForEach([&](std::size_t i, std::size_t p) {
      const float gradient = dy[i] * (factor == nullptr ? 1 : factor[p]);
      dx[i] = accumulate ? dx[i] + gradient : gradient;
    });
  }

 private:
  std::size_t offset_param() const { return factor_ == ScaleFrom::kParam ? 1 : 0; }

  template <class Args>
  const float* Find(ScaleFrom from, const Args& args, std::size_t param) const {
    if (from == ScaleFrom::kNone) return nullptr;
    return from == ScaleFrom::kInput ? args.inputs[1].data : args.params[param];
  }

  template <class Term>
  void AddGradient(ScaleFrom from, std::size_t param, const BackwardArgs& args,
                   const Term& term) const {
    if (from == ScaleFrom::kNone) return;
    const bool input = from == ScaleFrom::kInput;
    float* gradient = input ? args.input_gradients[1].data : args.param_gradients[param];
    if (gradient == nullptr) return;
    if (!(input ? args.accumulate_inputs[1] : args.accumulate_params[param])) {
      std::fill_n(gradient, part_elements_, 0.0F);
    }
    ForEach([&](std::size_t i, std::size_t p) { gradient[p] += term(i); });
  }

  // body(element of x, element of the factor) for all of x.
  template <class Body>
  void ForEach(const Body& body) const {
    const Shape& shape = outputs_[0];
    std::vector<std::int64_t> at(shape.rank(), 0);
    for (std::int64_t count = shape.elements(); count > 0; --count) {
      std::size_t i = 0;
      std::size_t p = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        i += static_cast<std::size_t>(at[axis]) * x_strides_[axis];
        p += static_cast<std::size_t>(at[axis]) * part_strides_[axis];
      }
      body(i, p);
      for (std::size_t axis = at.size(); axis-- > 0;) {
        if (++at[axis] < shape[axis]) break;
        at[axis] = 0;
      }
    }
  }

  ScaleFrom factor_;
  ScaleFrom offset_;
  std::vector<std::size_t> x_strides_;
  std::vector<std::size_t> part_strides_;  // 0 along axes that it does not have.
  std::size_t part_elements_ = 0;
};

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

}  // namespace

OpResult MakeBroadcast(const Link& link, std::span<const Shape> inputs, const BroadcastDef& def) {
  const LayerDef& layer = *link.layers.front();
  const Shape& input = inputs[0];
  SHOAL_ASSIGN_OR_RETURN(const std::size_t axis, ResolveAxis(def.axis, input));
  const bool second = inputs.size() > 1;
  std::size_t axes = input.rank() - axis;
  if (second) {
    axes = inputs[1].rank();
  } else if (def.num_axes >= 0) {
    axes = static_cast<std::size_t>(def.num_axes);
  }
  if (axis + axes > input.rank()) return Invalid("it has more axes than " + ToString(input));
  SHOAL_ASSIGN_OR_RETURN(const Shape part, Shape::Make(input.extents().subspan(axis, axes)));
  if (second && inputs[1] != part) {
    return Invalid("the second input is " + ToString(inputs[1]) + ", but must be " +
                   ToString(part));
  }
  auto op = std::make_unique<BroadcastOp>(input, axis, part, def.factor, def.offset);
  const auto add = [&](std::size_t index, const Filler& filler) {
    // A parameter over all four axes lies as the blob does.
    const ParamLayout layout = ParamLayout::Plain(part);
    op->AddParam({.layer = layer.name,
                  .index = index,
                  .layout = layout,
                  .filler = filler,
                  .def = index < layer.params.size() ? layer.params[index] : ParamDef{}});
  };
  if (def.factor == ScaleFrom::kParam) add(0, def.factor_filler);
  if (def.offset == ScaleFrom::kParam) {
    add(def.factor == ScaleFrom::kParam ? 1 : 0, def.offset_filler);
  }
  if (part.rank() == 4 && !op->params().empty()) {
    return Invalid("a parameter for every number of a batch makes no sense: use axis 1");
  }
  return OpResult(std::move(op));
}

}  // namespace shoal::nn
