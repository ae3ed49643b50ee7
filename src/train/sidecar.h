// Sidecar: what Caffe's two snapshot files have no place for and a resumed run needs to compute
// the same bits: where the data stand, random seeds, how convolutions are computed. JSON, written
// beside them as <prefix>_iter_<N>.shoal.json. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/sample_order.h"
#include "nn/conv_tuner.h"
#include "nn/lr_schedule.h"
#include "train/sample.h"

namespace shoal::train {

struct Sidecar {
  std::int64_t iteration = 0;
  std::uint64_t seed = 0;
  std::int64_t batch = 0;                // Of --batch; 0: as the network says.
  std::size_t workers = 0;               // That computed.
  std::vector<data::Cursor> train = {};  // One per layer that brings data.
  std::vector<SampleRun> owed = {};      // Before that, and not trained: of workers that were lost.
  std::vector<std::vector<data::Cursor>> tests = {};
  std::vector<nn::ConvChoice> convolutions = {};
  std::vector<double> losses = {};  // The last average_loss of them, oldest first.
  nn::LrSchedule::State schedule = {};
  std::int64_t unit = 0;         // Of exact sums (nn/exact_sums.h); 0: there are none.
  std::vector<int> limits = {};  // Of those, if there are any.

  bool operator==(const Sidecar&) const = default;
};

std::string WriteSidecar(const Sidecar& sidecar);
// kCorruption: what is wrong in `file` (a name for messages).
Result<Sidecar> ReadSidecar(std::string_view file, std::string_view text);

}  // namespace shoal::train
