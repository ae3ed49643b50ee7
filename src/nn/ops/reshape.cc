// Reshape and Flatten: the same numbers with other axes. Order is Caffe's; where that and ours
// differ (images of several pixels and channels) the numbers are moved.
#include <algorithm>
#include <utility>

#include "kernels/row_ops.h"
#include "nn/ops/axis.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

// Whether memory holds the numbers in Caffe's order.
bool InFileOrder(const Shape& shape) {
  return shape.rank() != 4 || shape[1] == 1 || shape[2] * shape[3] == 1;
}

class ReshapeOp final : public Op {
 public:
  ReshapeOp(Shape input, Shape output)
      : input_(std::move(input)), moves_(!InFileOrder(input_) || !InFileOrder(output)) {
    outputs_ = {std::move(output)};
    // Twice, if the number of channels changes.
    both_ = !InFileOrder(input_) && !InFileOrder(outputs_[0]);
  }

  bool in_place() const override { return !moves_; }
  std::optional<std::size_t> gradient_in_place() const override {
    return moves_ ? std::nullopt : std::optional<std::size_t>(0);
  }
  bool strided_outputs() const override { return false; }
  bool cheap() const override { return true; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    const auto floats = static_cast<std::size_t>(input_.elements());
    if (both_) buffers_.forward_workspace = floats;
    if (wants.backward) buffers_.backward_workspace = 2 * floats;
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    Move(args.inputs[0].data, input_, args.outputs[0].data, outputs_[0], args.workspace, parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const Blob& dy = args.output_gradients[0];
    const Blob& dx = args.input_gradients[0];
    if (dx.data == dy.data) return;
    if (!args.accumulate_inputs[0]) {
      Move(dy.data, outputs_[0], dx.data, input_, args.workspace, parallel);
      return;
    }
    const std::size_t elements = dx.elements();
    Move(dy.data, outputs_[0], args.workspace, input_, args.workspace + elements, parallel);
    const Blob moved{args.workspace, input_, dx.stride};
    kernels::AddRows(moved.rows(), dx.rows(), parallel);
  }

 private:
  void Move(float* from, const Shape& from_shape, float* to, const Shape& to_shape, float* scratch,
            Parallel& parallel) const {
    const auto elements = static_cast<std::size_t>(from_shape.elements());
    float* file = from;
    if (!InFileOrder(from_shape)) {
      file = InFileOrder(to_shape) ? to : scratch;
      const ImageShape images = AsImages(from_shape);
      const Blob blob{from, from_shape, images.channels};
      kernels::RowsToPlanes(blob.rows(), images.height * images.width, {file, elements}, false,
                            parallel);
    }
    if (!InFileOrder(to_shape)) {
      const ImageShape images = AsImages(to_shape);
      const Blob blob{to, to_shape, images.channels};
      kernels::PlanesToRows({file, elements}, images.height * images.width, blob.rows(), false,
                            parallel);
    } else if (file != to) {
      std::copy_n(file, elements, to);
    }
  }

  Shape input_;
  bool moves_;
  bool both_;
};

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

}  // namespace

OpResult MakeReshape(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<ReshapeDef>(link.layers.front()->op);
  const Shape& input = inputs[0];
  const auto rank = static_cast<std::int64_t>(input.rank());
  const std::int64_t begin = def.axis < 0 ? def.axis + rank + 1 : def.axis;
  const std::int64_t end = def.num_axes < 0 ? rank : begin + def.num_axes;
  if (begin < 0 || begin > end || end > rank) {
    return Invalid("axis and num_axes do not lie in " + ToString(input));
  }
  const std::span<const std::int64_t> all = input.extents();
  std::vector<std::int64_t> extents(all.begin(), all.begin() + begin);
  std::int64_t known = 1;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < def.dims.size(); ++i) {
    std::int64_t extent = def.dims[i];
    if (extent == 0) {
      if (begin + static_cast<std::int64_t>(i) >= rank) return Invalid("no axis to copy for dim 0");
      extent = all[static_cast<std::size_t>(begin) + i];
    }
    if (extent < -1 || (extent == -1 && inferred)) return Invalid("one dim at most may be -1");
    if (extent == -1) inferred = extents.size();
    extents.push_back(extent);
  }
  extents.insert(extents.end(), all.begin() + end, all.end());
  for (const std::int64_t extent : extents) {
    if (extent > 0 && known > (std::int64_t{1} << 40) / extent) return Invalid("absurdly large");
    if (extent >= 0) known *= extent;
  }
  if (inferred) extents[*inferred] = known == 0 ? 0 : input.elements() / known;
  SHOAL_ASSIGN_OR_RETURN(const Shape output, Shape::Make(extents));
  if (output.elements() != input.elements()) {
    return Invalid("cannot make " + ToString(output) + " of " + ToString(input));
  }
  return OpResult(std::make_unique<ReshapeOp>(input, output));
}

OpResult MakeFlatten(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<FlattenDef>(link.layers.front()->op);
  const Shape& input = inputs[0];
  SHOAL_ASSIGN_OR_RETURN(const std::size_t begin, ResolveAxis(def.axis, input));
  SHOAL_ASSIGN_OR_RETURN(const std::size_t end, ResolveAxis(def.end_axis, input));
  if (end < begin) return Invalid("end_axis comes before axis");
  std::vector<std::int64_t> extents;
  std::int64_t flat = 1;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    if (i >= begin && i <= end) flat *= input[i];
    if (i == end) extents.push_back(flat);
    if (i < begin || i > end) extents.push_back(input[i]);
  }
  SHOAL_ASSIGN_OR_RETURN(const Shape output, Shape::Make(extents));
  return OpResult(std::make_unique<ReshapeOp>(input, output));
}

}  // namespace shoal::nn
