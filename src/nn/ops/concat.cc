// Concat and Slice, along the channels or along the first axis. Where the planner has put the
// inputs of a Concat into its output, it does nothing.
#include <fmt/format.h>

#include <utility>

#include "kernels/row_ops.h"
#include "nn/ops/axis.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

// The part of `whole` that begins at index `begin` of the axis and has the extent of `part`.
kernels::Rows PartOf(const Blob& whole, const Shape& part, std::size_t begin, bool channels) {
  const ImageShape images = AsImages(part);
  kernels::Rows rows = whole.rows();
  if (channels) {
    rows.data += begin;
    rows.channels = images.channels;
  } else {
    const std::size_t rows_per_index =
        part[0] == 0 ? 0 : images.pixels() / static_cast<std::size_t>(part[0]);
    rows.data += begin * rows_per_index * rows.stride;
    rows.rows = images.pixels();
  }
  return rows;
}

std::size_t Extent(const Shape& shape, bool channels) {
  return static_cast<std::size_t>(shape[channels ? ChannelAxis(shape) : 0]);
}

class ConcatOp final : public Op {
 public:
  ConcatOp(Shape output, bool channels) : channels_(channels) { outputs_ = {std::move(output)}; }

  bool concatenates() const override { return channels_; }
  bool cheap() const override { return true; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    std::size_t begin = 0;
    for (const Blob& input : args.inputs) {
      const kernels::Rows to = PartOf(args.outputs[0], input.shape, begin, channels_);
      if (to.data != input.data) kernels::CopyRows(input.rows(), to, parallel);
      begin += Extent(input.shape, channels_);
    }
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < args.input_gradients.size(); ++i) {
      const Blob& dx = args.input_gradients[i];
      const kernels::Rows dy = PartOf(args.output_gradients[0], dx.shape, begin, channels_);
      begin += Extent(dx.shape, channels_);
      if (dx.data == nullptr || dx.data == dy.data) continue;
      kernels::CombineRows(1, dy, args.accumulate_inputs[i] ? 1.0F : 0.0F, dx.rows(), parallel);
    }
  }

 private:
  bool channels_;
};

class SliceOp final : public Op {
 public:
  SliceOp(std::vector<Shape> outputs, bool channels) : channels_(channels) {
    outputs_ = std::move(outputs);
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    std::size_t begin = 0;
    for (const Blob& output : args.outputs) {
      kernels::CopyRows(PartOf(args.inputs[0], output.shape, begin, channels_), output.rows(),
                        parallel);
      begin += Extent(output.shape, channels_);
    }
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    std::size_t begin = 0;
    const float keep = args.accumulate_inputs[0] ? 1 : 0;
    for (const Blob& dy : args.output_gradients) {
      const kernels::Rows dx = PartOf(args.input_gradients[0], dy.shape, begin, channels_);
      begin += Extent(dy.shape, channels_);
      if (dy.data != nullptr) {
        kernels::CombineRows(1, dy.rows(), keep, dx, parallel);
      } else if (!args.accumulate_inputs[0]) {
        kernels::FillRows(0, dx, parallel);  // Nobody used this part.
      }
    }
  }

 private:
  bool channels_;
};

// Whether `axis` is the channels; false: the first. Others are refused.
Result<bool> AlongChannels(std::int64_t axis, const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(const std::size_t resolved, ResolveAxis(axis, shape));
  if (resolved == ChannelAxis(shape)) return true;
  if (resolved == 0) return false;
  return Invalid(
      fmt::format("axis {} of {} is not supported: only the first axis and the channels "
                  "(axis {}) are",
                  axis, ToString(shape), ChannelAxis(shape)));
}

Result<Shape> WithExtent(const Shape& shape, std::size_t axis, std::int64_t extent) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[axis] = extent;
  return Shape::Make(extents);
}

}  // namespace

OpResult MakeConcat(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<ConcatDef>(link.layers.front()->op);
  SHOAL_ASSIGN_OR_RETURN(const bool channels, AlongChannels(def.axis, inputs[0]));
  const std::size_t axis = channels ? ChannelAxis(inputs[0]) : 0;
  std::int64_t sum = 0;
  for (const Shape& input : inputs) {
    bool fits = input.rank() == inputs[0].rank();
    for (std::size_t i = 0; fits && i < input.rank(); ++i) {
      fits = i == axis || input[i] == inputs[0][i];
    }
    if (!fits) {
      return Invalid(fmt::format("cannot join {} and {} along axis {}", ToString(inputs[0]),
                                 ToString(input), axis));
    }
    sum += input[axis];
  }
  SHOAL_ASSIGN_OR_RETURN(const Shape output, WithExtent(inputs[0], axis, sum));
  return OpResult(std::make_unique<ConcatOp>(output, channels));
}

OpResult MakeSlice(const Link& link, std::span<const Shape> inputs) {
  const LayerDef& layer = *link.layers.front();
  const auto& def = std::get<SliceDef>(layer.op);
  const Shape& input = inputs[0];
  SHOAL_ASSIGN_OR_RETURN(const bool channels, AlongChannels(def.axis, input));
  const std::size_t axis = channels ? ChannelAxis(input) : 0;
  const auto parts = static_cast<std::int64_t>(layer.tops.size());
  std::vector<std::int64_t> ends = def.points;
  if (ends.empty()) {
    if (input[axis] % parts != 0) {
      return Invalid(fmt::format("{} cannot be cut into {} equal parts", input[axis], parts));
    }
    for (std::int64_t i = 1; i < parts; ++i) ends.push_back(input[axis] / parts * i);
  }
  ends.push_back(input[axis]);
  if (ends.size() != layer.tops.size()) {
    return Invalid(fmt::format("{} slice points do not make {} parts", ends.size() - 1, parts));
  }
  std::vector<Shape> outputs;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    if (end <= begin) return Invalid("slice points must grow and lie inside the axis");
    SHOAL_ASSIGN_OR_RETURN(const Shape output, WithExtent(input, axis, end - begin));
    outputs.push_back(output);
    begin = end;
  }
  return OpResult(std::make_unique<SliceOp>(std::move(outputs), channels));
}

}  // namespace shoal::nn
