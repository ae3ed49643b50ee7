// What `shoal train` was told, and its two ways to do it: on this device (train.cc) and over many
// (cluster_train.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "shoal/compute.h"

namespace CLI {
class App;
}

namespace shoal {

struct ClusterTrainOptions {
  std::size_t workers = 0;  // Processes to start on this machine.
  bool cluster = false;     // With the members of the cluster in --dir.
  std::size_t workers_first = 0;
  std::string dir;
  std::string listen;
  std::string enrol;
  std::string mode = "sync";
  std::uint64_t period = 0;
  double alpha = 0;
  std::string algorithm = "auto";
  bool f16 = false;
  double bucket_mb = 0;  // 0: as the links want them.
  std::string batch_per_device;
  std::uint64_t scaled_from = 0;
  std::uint64_t warmup = 0;
  double lars = 0;
  bool momentum_correction = false;
  std::vector<std::string> worker_options;  // "2=--duty 0.3"
};

struct TrainCommand {
  std::string solver;
  std::string net;
  std::vector<std::string> weights;
  std::string resume;
  std::string batch;
  std::string memory;
  std::int64_t iterations = 0;
  bool quiet = false;
  bool exact = false;     // The same bits on any number of devices …
  std::int64_t unit = 0;  // … from gradients of so many images at a time; 0: a choice of ours.
  ComputeOptions compute;
  ClusterTrainOptions over;
};

// The unit of exact sums for batches of `batch` images, or 0: as the command says, or else as the
// run that is resumed had it.
std::int64_t ChooseUnit(const TrainCommand& command, std::int64_t resumed, std::int64_t batch);

// For the line that a run begins with.
std::string InUnits(std::int64_t unit);

// Whether it is to be done over several processes: --workers, --cluster, or mpirun.
bool IsOverCluster(const TrainCommand& command);
void AddClusterTrainOptions(CLI::App& command, ClusterTrainOptions& options);
Status TrainOverCluster(const TrainCommand& command);

// What signals ask for; read between two steps.
struct TrainSignals {
  bool stop = false;
  bool snapshot = false;
};
// The second Ctrl-C ends the program as if nobody listened.
void ListenToTrainSignals();
// What was asked for since the last call; a stop stays.
TrainSignals TakeTrainSignals();

}  // namespace shoal
