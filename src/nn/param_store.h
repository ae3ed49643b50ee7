// ParamStore: the parameters of a model and their gradients, each a part of one contiguous array:
// what solvers update, snapshots write and clusters add up. Networks of one model (for training,
// for testing) share a store; what the first one wants is made, the others find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "nn/op.h"
#include "tensor/aligned_buffer.h"

namespace shoal::nn {

enum class ParamId : std::size_t {};

// Parameters start on cache lines: each takes a multiple of so many floats.
inline constexpr std::size_t kParamGranule = kTensorAlignment / sizeof(float);

struct Param {
  ParamSpec spec;          // Of the layer that owns it; others may share it.
  std::size_t offset = 0;  // Of its values in the array of all, …
  std::size_t gradient_offset =
      0;  // … and of its gradient: the same unless OrderGradients was called.
  std::vector<std::string> sharers;  // Further "layer/index" that are this parameter.
  // That it takes, with the gap behind it.
  std::size_t floats() const {
    return (spec.layout.elements() + kParamGranule - 1) / kParamGranule * kParamGranule;
  }
  bool learnable() const { return !spec.statistics && spec.def.lr_mult != 0; }
};

class ParamStore {
 public:
  // Adds the parameter, or finds the one that is shared by name or belongs to a layer of the same
  // name in another network. kInvalidArgument: the two disagree about the shape.
  Result<ParamId> Want(const ParamSpec& spec);

  // Allocates what was wanted since the last call, and fills it by its fillers. Pointers given out
  // before are void. Values that exist are kept.
  Status Allocate(std::uint64_t seed, bool gradients);

  // Gradients of these lie in this order at the front of the array of all, the others behind them:
  // a cluster adds up only the front. REQUIRES: each at most once; no gradients are allocated yet.
  void OrderGradients(std::span<const ParamId> front);

  std::size_t size() const { return params_.size(); }
  const Param& operator[](ParamId id) const { return params_[static_cast<std::size_t>(id)]; }
  std::span<const Param> params() const { return params_; }

  // In memory order. REQUIRES: allocated.
  std::span<float> value(ParamId id);
  std::span<float> gradient(ParamId id);
  // All of them, with gaps of zeros between parameters.
  std::span<float> values();
  std::span<float> gradients();

  // Elements of all parameters as Caffe counts them.
  std::size_t elements() const;

 private:
  std::vector<Param> params_;
  std::size_t floats_ = 0;     // Of all wanted parameters, gaps included.
  std::size_t allocated_ = 0;  // How many of params_ have memory.
  AlignedBuffer values_;
  AlignedBuffer gradients_;
};

}  // namespace shoal::nn
