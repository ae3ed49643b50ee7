// .solverstate: where a training stands, beside its .caffemodel. Pure functions on bytes;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "caffe/blob.h"

namespace shoal::caffe {

struct SolverStateFile {
  std::int64_t iter = 0;
  std::string learned_net;        // The path of the .caffemodel when it was written.
  std::vector<Blob> history;      // As the solver keeps it: one blob per parameter, or two.
  std::int64_t current_step = 0;  // lr_policy "multistep" and "plateau".
  // lr_policy "plateau", of Intel's fork.
  std::optional<float> minimum_loss;
  std::int64_t iter_last_event = 0;
  bool operator==(const SolverStateFile&) const = default;
};

Result<SolverStateFile> ReadSolverState(std::string_view file, std::string_view bytes);
std::string WriteSolverState(const SolverStateFile& state);

}  // namespace shoal::caffe
