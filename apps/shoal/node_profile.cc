#include "shoal/node_profile.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/time.h"
#include "kernels/packed_weights.h"
#include "kernels/quant_matmul.h"
#include "kernels/quantized_rows.h"
#include "tensor/dtype.h"

namespace shoal {
namespace {

// 37.7 MB of weights: more than a phone's caches hold.
constexpr std::size_t kRows = 8192;
constexpr std::size_t kColumns = 8192;
constexpr std::size_t kPromptRows = 64;
constexpr Duration kMeasureFor = std::chrono::milliseconds(200);

// The best of as many as fit into the time: others share the machine.
double BestSeconds(const Clock& clock, const kernels::PackedWeights& weights, std::size_t rows,
                   Parallel& parallel) {
  const std::vector<float> x(rows * kColumns, 0.5F);
  std::vector<float> y(rows * kRows);
  kernels::QuantizedRows quantized;
  quantized.Assign(x, kColumns, 32, parallel);
  double best = 0;
  const Instant begin = clock.Now();
  do {
    const Instant before = clock.Now();
    kernels::QuantMatMul(weights, quantized, y, parallel);
    const double seconds = ToSeconds(clock.Now() - before);
    best = best == 0 ? seconds : std::min(best, seconds);
  } while (clock.Now() - begin < kMeasureFor);
  return std::max(best, 1e-9);
}

}  // namespace

Result<wire::pb::Profile> MeasureProfile(const Clock& clock, Parallel& parallel) {
  const std::vector<std::byte> blocks(kRows * kColumns / 32 * 18);
  SHOAL_ASSIGN_OR_RETURN(
      const kernels::PackedWeights weights,
      kernels::PackedWeights::Make(DType::kQ4_0, blocks, kRows, kColumns, parallel));
  wire::pb::Profile profile;
  profile.set_weight_bytes_per_second(static_cast<double>(blocks.size()) /
                                      BestSeconds(clock, weights, 1, parallel));
  profile.set_operations_per_second(2.0 * kRows * kColumns * kPromptRows /
                                    BestSeconds(clock, weights, kPromptRows, parallel));
  return profile;
}

}  // namespace shoal
