// Plan: the steps of a network and where every number lies while they run: one arena, shared by
// blobs that do not live at the same time.
//
//   MakePlan(graph)      steps: forward, and backward with recomputed values in between
//                        storage: what lives from which step to which
//                        places in the arena
//
// What is saved, beside the sharing itself:
// - Concat: where the inputs have no other reader they are written into the output at once.
// - In place: an output takes the place of an input that nobody reads any more; gradients too.
// - Recompute: values that are cheap to compute again (a normalisation, a residual sum) are not
// kept
//   for backward. Others neither, those first that free most for least work, as far as that costs
//   next to nothing; with a budget, as far as it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "nn/graph.h"

namespace shoal::nn {

enum class StepKind : std::uint8_t {
  kForward,
  kAgain,  // Forward once more, during backward.
  kBackward,
};

struct Step {
  StepKind kind;
  std::size_t node;
};

// A blob in the arena, in floats. `stride` is 0 for none.
struct Place {
  std::size_t offset = 0;
  std::size_t stride = 0;
  bool exists() const { return stride != 0; }
};

// Where the blobs of a step lie, in the order of its node's inputs and outputs. What the step does
// not touch has no place.
struct StepPlaces {
  std::vector<Place> inputs;
  std::vector<Place> outputs;
  std::vector<Place> input_gradients;
  std::vector<Place> output_gradients;
  std::vector<bool> accumulate;  // One per input gradient.
  std::vector<Place> saved;
  Place workspace;
};

struct Plan {
  std::vector<Step> steps;
  std::size_t forward_steps = 0;   // The first so many.
  std::vector<StepPlaces> places;  // One per step.
  // Of all values as the forward steps leave them: for filling inputs and reading results.
  std::vector<Place> values;
  // Of values with a loss weight, filled with it before backward, and of inputs.
  std::vector<Place> gradients;
  std::size_t floats = 0;   // Of the arena.
  double again_cost = 0;    // Op::cost() of recomputing what is not cheap, …
  double forward_cost = 0;  // … and of all forward steps.
};

// REQUIRES: the ops are prepared. kResourceExhausted: it cannot be made to fit `bytes_max` (0: no
// limit) by recomputing; says what it needs.
Result<Plan> MakePlan(const Graph& graph, std::size_t bytes_max);

}  // namespace shoal::nn
