#include "kernels/conv_onednn.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/conv_pixels.h"
#include "kernels/onednn_parts.h"

namespace shoal::kernels {
namespace {

using dnnl::algorithm;

// Passes that read weights: many tasks for balance, but weights that do not fit a core's caches
// are not read for every image: 512 > 512 of 3 x 3, four images, from 128 to 146 GFLOP/s forward
// and from 139 to 172 backward.
constexpr OneDnnLimits kReading{.image_tasks = 16, .heavy_weights = std::size_t{1} << 20U};

// The pass that adds up over images has a dw for each run of them: 512 > 2048 of 1 x 1, from 73
// to 129 GFLOP/s when it is cut by outputs.
OneDnnLimits AddingLimits(const ConvShape& shape) {
  constexpr std::size_t kPartialsMax = 8;
  constexpr std::size_t kPartialFloatsMax = std::size_t{4} << 20U;
  return {
      .image_tasks = std::clamp<std::size_t>(kPartialFloatsMax / shape.weights(), 1, kPartialsMax),
      .heavy_weights = std::size_t{1} << 18U};
}

void* Handle(const float* data) {
  return const_cast<float*>(data);
}  // Its C interface has no const.

// What each worker computes with.
struct Worker {
  dnnl::stream stream;
  dnnl::memory x;
  dnnl::memory y;
  dnnl::memory scratchpad;
};

// The part of a pass that does not depend on its direction: its cut, its workers, and where their
// buffers lie. A worker has room for the dense copies of x and y, and for the library.
class Bench {
 public:
  template <class Description>
  Bench(const OneDnnParts& parts, const OneDnnOperands& operands, const Description& description,
        std::size_t workers)
      : parts_(parts),
        x_floats_(WholeLines(parts.x_pixels() * parts.part.channels)),
        y_floats_(WholeLines(parts.y_pixels() * parts.part.outputs)),
        scratch_floats_(WholeLines(description.scratchpad_desc().get_size() / sizeof(float) + 1)) {
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.push_back({dnnl::stream(OneDnnEngine()), Unbound(operands.x), Unbound(operands.y),
                          Unbound(description.scratchpad_desc())});
    }
  }

  std::size_t workers() const { return workers_.size(); }
  std::size_t floats() const { return workers() * (x_floats_ + y_floats_ + scratch_floats_); }
  // `buffers` holds floats().
  float* XBuffer(std::size_t worker, float* buffers) const {
    return buffers + worker * (x_floats_ + y_floats_ + scratch_floats_);
  }
  float* YBuffer(std::size_t worker, float* buffers) const {
    return XBuffer(worker, buffers) + x_floats_;
  }
  // Ready but for x and y.
  Worker& Ready(std::size_t worker, float* buffers) {
    workers_[worker].scratchpad.set_data_handle(YBuffer(worker, buffers) + y_floats_);
    return workers_[worker];
  }

  // Where the pixels of x that a task reads are, dense: in place, or copied to `buffer`.
  float* DenseX(std::size_t task, ConstPixels x, float* buffer) const {
    const std::size_t run = task % parts_.runs;
    x.data += run * parts_.x_pixels() * x.stride + parts_.x_begin(task / parts_.runs);
    return Dense(x, parts_.x_pixels(), parts_.part.channels, buffer);
  }
  float* DenseY(std::size_t task, ConstPixels y, float* buffer) const {
    const std::size_t run = task % parts_.runs;
    y.data += run * parts_.y_pixels() * y.stride + parts_.y_begin(task / parts_.runs);
    return Dense(y, parts_.y_pixels(), parts_.part.outputs, buffer);
  }

 private:
  static float* Dense(ConstPixels pixels, std::size_t count, std::size_t channels, float* buffer) {
    if (pixels.stride == channels) return const_cast<float*>(pixels.data);
    CopyPixels(pixels, {.data = buffer, .stride = channels}, count, channels);
    return buffer;
  }

  OneDnnParts parts_;
  std::size_t x_floats_;
  std::size_t y_floats_;
  std::size_t scratch_floats_;
  std::vector<Worker> workers_;
};

// The weights of each block, in the order that a primitive wants.
class Weights {
 public:
  Weights(const OneDnnParts& parts, const OneDnnOperands& operands,
          const dnnl::memory::desc& wanted)
      : parts_(parts),
        ours_(Unbound(operands.our_w, parts.blocks)),
        theirs_(Unbound(wanted, parts.blocks)),
        block_floats_(WholeLines(wanted.get_size() / sizeof(float))) {
    if (wanted == operands.our_w) return;
    reorder_.emplace(
        dnnl::reorder::primitive_desc(OneDnnEngine(), operands.our_w, OneDnnEngine(), wanted));
  }

  std::size_t floats() const { return reorder_ ? parts_.blocks * block_floats_ : 0; }

  // `buffer` holds floats().
  void Bind(const float* w, float* buffer, Parallel& parallel) {
    const OneThread one;
    for (std::size_t block = 0; block < parts_.blocks; ++block) {
      ours_[block].set_data_handle(Handle(w + parts_.w_begin(block)));
      theirs_[block].set_data_handle(reorder_ ? buffer + block * block_floats_
                                              : Handle(w + parts_.w_begin(block)));
    }
    if (!reorder_) return;
    parallel.Run(parts_.blocks, [&](std::size_t block, std::size_t /*worker*/) {
      const OneThread alone;
      Execute(*reorder_, stream_, {{DNNL_ARG_FROM, ours_[block]}, {DNNL_ARG_TO, theirs_[block]}});
    });
  }

  const dnnl::memory& of(std::size_t block) const { return theirs_[block]; }

 private:
  OneDnnParts parts_;
  dnnl::stream stream_{OneDnnEngine()};
  std::vector<dnnl::memory> ours_;
  std::vector<dnnl::memory> theirs_;
  std::size_t block_floats_;
  std::optional<dnnl::reorder> reorder_;
};

dnnl::convolution_forward::primitive_desc DescribeForward(const OneDnnOperands& o) {
  return {{dnnl::prop_kind::forward_training, algorithm::convolution_direct, o.x, o.any_w, o.bias,
           o.y, o.strides, o.dilations, o.pads, o.pads},
          OwnScratchpad(),
          OneDnnEngine()};
}

class Forward final : public ConvForward {
 public:
  Forward(const OneDnnParts& parts, const OneDnnOperands& operands,
          const dnnl::convolution_forward::primitive_desc& description, std::size_t workers)
      : parts_(parts),
        primitive_(description),
        bench_(parts, operands, description, workers),
        weights_(parts, operands, description.weights_desc()),
        bias_(Unbound(operands.bias, parts.blocks)),
        no_bias_(parts.whole.outputs) {}

  std::size_t workspace_floats() const override { return bench_.floats() + weights_.floats(); }

  void Run(const ConvForwardArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), bench_.workers());
    weights_.Bind(args.w, workspace + bench_.floats(), parallel);
    const float* bias = args.bias != nullptr ? args.bias : no_bias_.data();
    for (std::size_t block = 0; block < parts_.blocks; ++block) {
      bias_[block].set_data_handle(Handle(bias + parts_.y_begin(block)));
    }
    parallel.Run(parts_.tasks(), [&](std::size_t task, std::size_t worker) {
      RunTask(args, task, worker, workspace);
    });
  }

 private:
  void RunTask(const ConvForwardArgs& args, std::size_t task, std::size_t index, float* buffers) {
    const OneThread alone;
    const std::size_t block = task / parts_.runs;
    const std::size_t channels = parts_.part.outputs;
    Worker& worker = bench_.Ready(index, buffers);
    worker.x.set_data_handle(bench_.DenseX(task, {.data = args.x, .stride = args.x_stride},
                                           bench_.XBuffer(index, buffers)));
    const Pixels y{.data = args.y + task % parts_.runs * parts_.y_pixels() * args.y_stride +
                           parts_.y_begin(block),
                   .stride = args.y_stride};
    const Pixels dense =
        y.stride == channels ? y : Pixels{bench_.YBuffer(index, buffers), channels};
    worker.y.set_data_handle(dense.data);
    Execute(primitive_, worker.stream,
            {{DNNL_ARG_SRC, worker.x},
             {DNNL_ARG_WEIGHTS, weights_.of(block)},
             {DNNL_ARG_BIAS, bias_[block]},
             {DNNL_ARG_DST, worker.y},
             {DNNL_ARG_SCRATCHPAD, worker.scratchpad}});
    // Not the library's own ReLU, which turns a NaN into 0.
    if (args.relu) ReluPixels(dense, parts_.y_pixels(), channels);
    if (dense.data != y.data) {
      CopyPixels({dense.data, dense.stride}, y, parts_.y_pixels(), channels);
    }
  }

  OneDnnParts parts_;
  dnnl::convolution_forward primitive_;
  Bench bench_;
  Weights weights_;
  std::vector<dnnl::memory> bias_;
  std::vector<float> no_bias_;
};

class BackwardData final : public ConvBackwardData {
 public:
  BackwardData(const OneDnnParts& parts, const OneDnnOperands& operands,
               const dnnl::convolution_backward_data::primitive_desc& description,
               std::size_t workers)
      : parts_(parts),
        primitive_(description),
        bench_(parts, operands, description, workers),
        weights_(parts, operands, description.weights_desc()) {}

  std::size_t workspace_floats() const override { return bench_.floats() + weights_.floats(); }

  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), bench_.workers());
    weights_.Bind(args.w, workspace + bench_.floats(), parallel);
    parallel.Run(parts_.tasks(), [&](std::size_t task, std::size_t worker) {
      RunTask(args, task, worker, workspace);
    });
  }

 private:
  void RunTask(const ConvBackwardDataArgs& args, std::size_t task, std::size_t index,
               float* buffers) {
    const OneThread alone;
    const std::size_t block = task / parts_.runs;
    const std::size_t channels = parts_.part.channels;
    Worker& worker = bench_.Ready(index, buffers);
    worker.y.set_data_handle(bench_.DenseY(task, {.data = args.dy, .stride = args.dy_stride},
                                           bench_.YBuffer(index, buffers)));
    const Pixels dx{.data = args.dx + task % parts_.runs * parts_.x_pixels() * args.dx_stride +
                            parts_.x_begin(block),
                    .stride = args.dx_stride};
    const bool in_place = dx.stride == channels && !args.accumulate;
    const Pixels dense = in_place ? dx : Pixels{bench_.XBuffer(index, buffers), channels};
    worker.x.set_data_handle(dense.data);
    Execute(primitive_, worker.stream,
            {{DNNL_ARG_DIFF_DST, worker.y},
             {DNNL_ARG_WEIGHTS, weights_.of(block)},
             {DNNL_ARG_DIFF_SRC, worker.x},
             {DNNL_ARG_SCRATCHPAD, worker.scratchpad}});
    const ConstPixels result{dense.data, dense.stride};
    if (args.accumulate) {
      AddPixels(result, dx, parts_.x_pixels(), channels);
    } else if (!in_place) {
      CopyPixels(result, dx, parts_.x_pixels(), channels);
    }
  }

  OneDnnParts parts_;
  dnnl::convolution_backward_data primitive_;
  Bench bench_;
  Weights weights_;
};

// Adds what it reorders to what is there.
dnnl::reorder MakeAddingReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  dnnl::post_ops add;
  add.append_sum(1.0F);
  dnnl::primitive_attr attr;
  attr.set_post_ops(add);
  return dnnl::reorder(
      dnnl::reorder::primitive_desc(OneDnnEngine(), from, OneDnnEngine(), to, attr));
}

// A dw for each block and run of images, in the library's order; then the runs are added up.
class BackwardWeights final : public ConvBackwardWeights {
 public:
  BackwardWeights(const OneDnnParts& parts, const OneDnnOperands& operands,
                  const dnnl::convolution_backward_weights::primitive_desc& description,
                  std::size_t workers)
      : parts_(parts),
        primitive_(description),
        copy_(dnnl::reorder::primitive_desc(OneDnnEngine(), description.diff_weights_desc(),
                                            OneDnnEngine(), operands.our_w)),
        add_(MakeAddingReorder(description.diff_weights_desc(), operands.our_w)),
        bench_(parts, operands, description, workers),
        partials_(Unbound(description.diff_weights_desc(), parts.tasks())),
        ours_(Unbound(operands.our_w, parts.blocks)),
        partial_floats_(WholeLines(description.diff_weights_desc().get_size() / sizeof(float))) {}

  std::size_t workspace_floats() const override {
    return bench_.floats() + parts_.tasks() * partial_floats_ +
           ColumnSumFloats(parts_.whole.outputs);
  }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), bench_.workers());
    float* partials = workspace + bench_.floats();
    parallel.Run(parts_.tasks(), [&](std::size_t task, std::size_t worker) {
      RunTask(args, task, worker, partials, workspace);
    });
    parallel.Run(parts_.blocks, [&](std::size_t block, std::size_t /*worker*/) {
      AddRuns(args, block, partials);
    });
    if (args.dbias == nullptr) return;
    ColumnSums({.data = args.dy, .stride = args.dy_stride}, parts_.whole.out_pixels(),
               parts_.whole.outputs, args.accumulate, args.dbias,
               partials + parts_.tasks() * partial_floats_, parallel);
  }

 private:
  void RunTask(const ConvBackwardWeightsArgs& args, std::size_t task, std::size_t index,
               float* partials, float* buffers) {
    const OneThread alone;
    Worker& worker = bench_.Ready(index, buffers);
    worker.x.set_data_handle(bench_.DenseX(task, {.data = args.x, .stride = args.x_stride},
                                           bench_.XBuffer(index, buffers)));
    worker.y.set_data_handle(bench_.DenseY(task, {.data = args.dy, .stride = args.dy_stride},
                                           bench_.YBuffer(index, buffers)));
    partials_[task].set_data_handle(partials + task * partial_floats_);
    Execute(primitive_, worker.stream,
            {{DNNL_ARG_SRC, worker.x},
             {DNNL_ARG_DIFF_DST, worker.y},
             {DNNL_ARG_DIFF_WEIGHTS, partials_[task]},
             {DNNL_ARG_SCRATCHPAD, worker.scratchpad}});
  }

  void AddRuns(const ConvBackwardWeightsArgs& args, std::size_t block, float* partials) {
    const OneThread alone;
    const std::size_t first = block * parts_.runs;
    float* sum = partials + first * partial_floats_;
    for (std::size_t run = 1; run < parts_.runs; ++run) {
      AddPixels({.data = sum + run * partial_floats_, .stride = 0}, {.data = sum, .stride = 0}, 1,
                partial_floats_);
    }
    ours_[block].set_data_handle(args.dw + parts_.w_begin(block));
    Execute(args.accumulate ? add_ : copy_, stream_,
            {{DNNL_ARG_FROM, partials_[first]}, {DNNL_ARG_TO, ours_[block]}});
  }

  OneDnnParts parts_;
  dnnl::stream stream_{OneDnnEngine()};
  dnnl::convolution_backward_weights primitive_;
  dnnl::reorder copy_;
  dnnl::reorder add_;
  Bench bench_;
  std::vector<dnnl::memory> partials_;
  std::vector<dnnl::memory> ours_;
  std::size_t partial_floats_;
};

// make(): a pass, or none for shapes that the library refuses.
template <class Make>
auto Try(const ConvOptions& options, const Make& make) -> decltype(make()) {
  // A target that is asked for by name is one of our own kernels.
  if (options.target != BestTarget()) return nullptr;
  const OneThread alone;  // Primitives remember how many threads there were.
  try {
    return make();
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

std::unique_ptr<ConvForward> MakeForward(const ConvShape& shape, const ConvOptions& options) {
  return Try(options, [&] {
    const OneDnnParts parts(shape, OneDnnCut::kOutputs, kReading);
    const OneDnnOperands operands(parts);
    return std::make_unique<Forward>(parts, operands, DescribeForward(operands), options.workers);
  });
}

std::unique_ptr<ConvBackwardData> MakeBackwardData(const ConvShape& shape,
                                                   const ConvOptions& options) {
  return Try(options, [&] {
    const OneDnnParts parts(shape, OneDnnCut::kChannels, kReading);
    const OneDnnOperands o(parts);
    const dnnl::convolution_backward_data::primitive_desc description(
        {algorithm::convolution_direct, o.x, o.any_w, o.y, o.strides, o.dilations, o.pads, o.pads},
        OwnScratchpad(), OneDnnEngine(), DescribeForward(o));
    return std::make_unique<BackwardData>(parts, o, description, options.workers);
  });
}

std::unique_ptr<ConvBackwardWeights> MakeBackwardWeights(const ConvShape& shape,
                                                         const ConvOptions& options) {
  return Try(options, [&] {
    const OneDnnParts parts(shape, OneDnnCut::kOutputs, AddingLimits(shape));
    const OneDnnOperands o(parts);
    const dnnl::convolution_backward_weights::primitive_desc description(
        {algorithm::convolution_direct, o.x, o.any_w, o.y, o.strides, o.dilations, o.pads, o.pads},
        OwnScratchpad(), OneDnnEngine(), DescribeForward(o));
    return std::make_unique<BackwardWeights>(parts, o, description, options.workers);
  });
}

}  // namespace

std::span<const ConvImplementation> OneDnnConvRows() {
  static constexpr ConvImplementation kRows[] = {
      {"onednn", false, &MakeForward, &MakeBackwardData, &MakeBackwardWeights}};
  return kRows;
}

}  // namespace shoal::kernels
