// Net: a network ready to run: graph, plan, arena. Inputs are filled by the caller, a step is
// Forward and, when training, Backward; after that gradients are in the ParamStore and results can
// be read. A steady step allocates nothing.
//
// Not thread-safe; computes on the Parallel it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/blob.h"
#include "nn/conv_chooser.h"
#include "nn/graph.h"
#include "nn/param_store.h"
#include "nn/plan.h"
#include "tensor/aligned_buffer.h"

namespace shoal::nn {

struct NetOptions {
  std::map<std::string, Shape> input_shapes = {};  // Of layers that bring data, by top.
  bool backward = false;
  std::size_t bytes_max = 0;  // For the arena; 0: no limit.
  std::uint64_t seed = 0;     // Of random numbers during steps: Dropout.
  bool fuse = true;
};

// Told about every step as it runs: for timing, and for sending gradients while others are still
// being computed.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void OnStepBegin(const Step& step) = 0;
  virtual void OnStepEnd(const Step& step) = 0;
};

struct BackwardOptions {
  bool accumulate = false;  // Adds to the gradients of the parameters instead of setting them.
  float weight = 1;         // Gradients are those of the loss times this.
};

class Net {
 public:
  // Wants its parameters from `params`, which must then be allocated before the first step.
  // kInvalidArgument: what is wrong with which layer; kResourceExhausted: too large.
  static Result<std::unique_ptr<Net>> Build(const NetDef& def, const NetOptions& options,
                                            ParamStore& params, ConvChooser& chooser,
                                            Parallel& parallel);
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return plan_; }
  std::size_t arena_bytes() const { return arena_.size(); }

  // The blob of a value; of a name, or none. Inputs may be written before a Forward; what is not
  // a result holds other numbers after the step.
  Blob blob(std::size_t value);
  std::optional<Blob> blob(const std::string& name);
  // After Backward: the gradient of an input, if the network was told to compute it.
  Blob gradient(std::size_t input) { return MakeBlob(input, plan_.gradients[input]); }

  // Returns the loss: the sum over values with a weight. `iteration` is for random numbers.
  // kInvalidArgument: the data do not fit the network: labels that are no classes.
  Result<double> Forward(std::uint64_t iteration);
  // After Forward. Sets the gradients of the parameters, or with `accumulate` adds to them.
  // REQUIRES: built with backward.
  void Backward(bool accumulate) { BackwardSteps(0, backward_steps(), {.accumulate = accumulate}); }

  // The same in parts, so that what is finished can be sent while the rest is computed: the steps
  // of plan() after the forward ones, [0, n), [n, m), … in order and all with the same options.
  std::size_t backward_steps() const { return plan_.steps.size() - plan_.forward_steps; }
  void BackwardSteps(std::size_t first, std::size_t end, const BackwardOptions& options);

  void set_observer(StepObserver* observer) { observer_ = observer; }

 private:
  // The arguments of one step, made once.
  struct Call {
    std::vector<Blob> inputs, outputs, input_gradients, output_gradients;
    std::vector<float*> params, param_gradients, saved;
    std::unique_ptr<bool[]> accumulate_inputs, accumulate_params;
    std::unique_ptr<bool[]> first_use;  // Per parameter: nobody wrote its gradient yet.
    float* workspace = nullptr;
  };

  Net(Graph graph, ParamStore& params, Parallel& parallel, std::uint64_t seed)
      : graph_(std::move(graph)), params_(params), parallel_(parallel), seed_(seed) {}

  void MakeCalls();
  Call MakeCall(std::size_t step);
  Blob MakeBlob(std::size_t value, const Place& place);
  void RunForward(std::size_t step);
  void RunBackward(std::size_t step);
  void FillSeeds(float weight);

  Graph graph_;
  ParamStore& params_;
  Parallel& parallel_;
  std::uint64_t seed_;
  Plan plan_;
  AlignedBuffer arena_;
  std::vector<Call> calls_;  // Made at the first step, when the parameters have their places.
  OpStep step_;
  StepObserver* observer_ = nullptr;
};

}  // namespace shoal::nn
