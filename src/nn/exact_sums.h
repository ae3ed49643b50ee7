// ExactSums: gradients of units of samples, added up to the same bits whoever adds which of them in
// which order: on one device, on four, around a ring, without the one that died.
//
// Floats do not add up like that; whole numbers do. So the gradient of each unit is rounded to
// multiples of a quantum, a power of two for each parameter, of which the sum of all units has less
// than 2^24: then every sum on the way is a float, and no addition rounds.
//
// All devices need the same quanta before anything is computed. They follow from the last sums,
// which all devices have: a unit may be four times as large as the largest element of those; what
// is larger is cut off there. With 16 units a quantum is then 2^-17 to 2^-16 of that element, which
// is to the noise of a gradient as nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/param_store.h"
#include "tensor/aligned_buffer.h"

namespace shoal::nn {

class ExactSums {
 public:
  // For sums of up to `units`. REQUIRES: the gradients of `params`, which outlive it, have their
  // places; 1 <= units <= kUnitsMax. kResourceExhausted: no memory.
  static constexpr std::int64_t kUnitsMax = 1 << 16;
  static Result<ExactSums> Make(const ParamStore& params, std::int64_t units, Parallel& parallel);

  // As long as the gradients of `params`.
  std::span<float> sums();
  std::span<const float> sums() const;

  // A sum begins.
  void Clear();
  // One more unit, or floats [begin, end) of it.
  void Add(std::span<const float> gradients, std::size_t begin, std::size_t end);
  // These are the sums of all devices: what the next quanta follow from. REQUIRES: as long as
  // sums().
  void Follow(std::span<const float> all);

  // What a unit is cut off at, as an exponent of 2 for each parameter: all that is to be kept for
  // going on with the same bits.
  const std::vector<int>& limits() const { return limits_; }
  // kInvalidArgument: they are not of this network.
  Status SetLimits(std::span<const int> limits);
  // Whether they are of any.
  static bool AreLimits(std::span<const int> limits);

 private:
  // A parameter that has a gradient.
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t param = 0;
  };

  ExactSums(const ParamStore& params, std::int64_t units, Parallel& parallel);

  Parallel* parallel_;
  int unit_bits_ = 0;
  std::vector<Part> parts_;  // By begin.
  std::vector<int> limits_;  // By parameter.
  AlignedBuffer sums_;
};

}  // namespace shoal::nn
