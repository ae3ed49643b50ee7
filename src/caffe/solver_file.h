// A solver prototxt: nn::SolverDef, and which networks it trains and tests.
//
// Paths are as the file has them; Caffe takes them relative to the working directory.
// Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "caffe/net_file.h"
#include "nn/solver_def.h"

namespace shoal::caffe {

// A network the solver names or contains, and for what it is built:
//   file.Build({.phase = choice.phase, .state = choice.state})
struct NetChoice {
  std::string path;                // Empty if it is inside the solver file:
  std::optional<NetFile> written;  // here.
  nn::Phase phase = nn::Phase::kTrain;
  NetState state;  // The solver's word on it (train_state, test_state).
};

struct SolverFile {
  nn::SolverDef solver;
  NetChoice train;
  std::vector<NetChoice> tests;      // solver.test_iter has as many entries.
  std::vector<std::string> weights;  // Files to start from, in this order.
  std::vector<std::string> warnings;
};

// `file` is a name for messages, and where snapshots go if the text does not say:
// "a/solver.prototxt" gives the prefix "a/solver".
Result<SolverFile> ParseSolver(std::string_view file, std::string_view text);

}  // namespace shoal::caffe
