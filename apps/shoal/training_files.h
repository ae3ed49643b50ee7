// From the files of a training to what its head leads with: the job that workers get, the data set,
// and a copy of what they train, to test and to save.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/conv_chooser.h"
#include "shoal/solver_files.h"
#include "shoal/train_command.h"
#include "train/cluster/item_server.h"
#include "train/cluster/net_learner.h"
#include "train/cluster/sample_pool.h"
#include "train/model.h"
#include "wire/control.h"

namespace shoal {

struct Training {
  wire::pb::TrainJob job;
  train::ReadRecord read;
  std::unique_ptr<train::NetLearner> learner;  // With the weights to begin with.
  std::vector<std::unique_ptr<train::Model>> tests;
  train::PoolState pool;  // Where the data stand.
  std::string prefix;
  std::int64_t stop = 0;
  bool resumed = false;
  std::vector<std::string> warnings;
};

// `workers`: how many are expected, for --batch-per-device. `chooser` and `parallel` outlive what
// is made.
Result<Training> OpenTraining(const TrainCommand& command, std::size_t workers,
                              nn::ConvChooser& chooser, Parallel& parallel);

}  // namespace shoal
