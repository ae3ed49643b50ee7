// Op: one node of a network, forward and backward. An op is made for given input shapes, told
// what will be asked of it (Prepare), and then run; it owns no blobs: the memory planner decides
// where its inputs, outputs, gradients and buffers lie, from what the op says about itself.
//
// Inputs and their gradients are dense (stride == channels). Outputs and their gradients may be
// slices of the channels of a wider blob, if strided_outputs() says that the op can write such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/blob.h"
#include "nn/conv_chooser.h"
#include "nn/net_def.h"
#include "nn/param_layout.h"

namespace shoal::nn {

// A parameter that an op wants to exist.
struct ParamSpec {
  std::string layer = {};  // The layer of the file that it belongs to, …
  std::size_t index = 0;   // … and which of its blobs it is.
  ParamLayout layout = {};
  Filler filler = {};
  ParamDef def = {};
  bool statistics = false;  // Written by Forward, never by a solver: BatchNorm's.
};

// What a program asks of an op.
struct OpWants {
  bool backward = false;
  std::vector<bool> input_gradients = {};  // One per input.
  std::vector<bool> param_gradients = {};  // One per parameter.
};

// Sizes in floats, known after Prepare. Workspace is the op's for the length of one call; saved
// buffers live from Forward to Backward.
struct OpBuffers {
  std::size_t forward_workspace = 0;
  std::size_t backward_workspace = 0;
  std::vector<std::size_t> saved = {};
};

struct OpStep {
  std::uint64_t seed = 0;       // Of the run …
  std::uint64_t iteration = 0;  // … and the step: what random numbers are a function of.
};

struct ForwardArgs {
  std::span<const Blob> inputs;
  std::span<const Blob> outputs;  // The first may lie where the first input lies (in_place()).
  std::span<float* const> params;
  std::span<float* const> saved;
  float* workspace = nullptr;
  OpStep step = {};
  // The outputs of an earlier Forward are computed again, to the same bits: statistics must not
  // be updated twice, and saved buffers hold what they held.
  bool again = false;
};

struct BackwardArgs {
  // Data is there where reads_input() or reads_output() asks for it, else null.
  std::span<const Blob> inputs;
  std::span<const Blob> outputs;
  // May be overwritten.
  std::span<const Blob> output_gradients;
  // Null where not wanted. The one of gradient_in_place() may lie where the first output's does.
  std::span<const Blob> input_gradients;
  std::span<const bool> accumulate_inputs;  // Whether to add to what is there.
  std::span<float* const> params;
  std::span<float* const> param_gradients;  // Null where not wanted.
  std::span<const bool> accumulate_params;
  std::span<float* const> saved;
  float* workspace = nullptr;
  OpStep step = {};
};

// An element that is read, changed and written back takes about the time of so many multiply-adds:
// 1 ns and 45 a ns were measured. Without it a depthwise convolution looks as if it cost nothing.
inline constexpr double kElementCost = 40;

class Op {
 public:
  virtual ~Op() = default;

  // --- Known once the op is made.
  const std::vector<Shape>& outputs() const { return outputs_; }
  const std::vector<ParamSpec>& params() const { return params_; }
  // Whether Backward reads the data of an input or output.
  virtual bool reads_input(std::size_t /*input*/) const { return false; }
  virtual bool reads_output(std::size_t /*output*/) const { return false; }
  // Whether an input has a gradient at all: a label has not.
  virtual bool differentiable(std::size_t /*input*/) const { return true; }
  // The first output may overwrite the first input.
  virtual bool in_place() const { return false; }
  // The input whose gradient may overwrite the first output's.
  virtual std::optional<std::size_t> gradient_in_place() const { return std::nullopt; }
  virtual bool strided_outputs() const { return true; }
  // Costs about as much as reading its inputs and writing its outputs: the planner rather
  // computes the outputs again than keeps them for Backward.
  virtual bool cheap() const { return false; }
  // Of Forward's matrix product, if it is one.
  virtual double multiply_adds() const { return 0; }
  // How long Forward takes, in multiply-adds. For choosing what to recompute.
  double cost() const {
    const std::int64_t elements = outputs_.empty() ? 0 : outputs_[0].elements();
    return multiply_adds() + kElementCost * static_cast<double>(elements);
  }
  // Joins its inputs along the channels, in order: where they lie in the output already, there is
  // nothing to do.
  virtual bool concatenates() const { return false; }
  // A loss: its first output counts with weight 1 unless the layer says otherwise.
  virtual bool is_loss() const { return false; }

  // --- Called once, before the first run. Makes what runs need (kernels are chosen here).
  virtual Status Prepare(const OpWants& /*wants*/, std::size_t /*workers*/,
                         ConvChooser& /*chooser*/) {
    return {};
  }
  const OpBuffers& buffers() const { return buffers_; }
  // The kernels that Prepare chose, for reports: "winograd-f4, implicit-gemm".
  virtual std::string implementations() const { return {}; }

  // --- Runs; allocate nothing.
  virtual void Forward(const ForwardArgs& args, Parallel& parallel) = 0;
  // What was wrong with the numbers of the last Forward: labels that are no classes.
  virtual Status last_forward() const { return {}; }
  // REQUIRES: the program asked for it in Prepare.
  virtual void Backward(const BackwardArgs& /*args*/, Parallel& /*parallel*/) {
    SHOAL_CHECK(false);
  }

 protected:
  std::vector<Shape> outputs_;
  std::vector<ParamSpec> params_;
  OpBuffers buffers_;
};

}  // namespace shoal::nn
