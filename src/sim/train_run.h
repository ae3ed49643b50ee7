// RunTraining: a seeded cluster of phones that trains a toy model with the production code while
// everything breaks: phones die, hang, slow down, come back, are cut off; so does the head. With a
// verdict.
//
//   safety    after every update all workers have the same bits; they are what one device computes
//             from the committed samples, up to rounding; every sample of every epoch is committed
//             exactly once, whatever was lost on the way;
//   liveness  when everything has healed, the training ends within kTrainingLimit.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "collective/communicator.h"
#include "sim/faults.h"
#include "sim/models.h"
#include "sim/trace.h"

namespace shoal::sim {

struct TrainRunOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 5;  // Beside the head, which is node 1.
  std::int64_t records = 500;
  std::uint64_t batch = 32;
  std::int64_t steps = 60;
  std::int64_t keep_interval = 10;  // Steps between two snapshots.
  bool shuffle = true;
  collective::AllReduceOptions reduce = {};
  bool measure_links = false;          // And what gradients are added up by follows from that.
  std::size_t parts = 3;               // Of a step.
  double operations_per_sample = 1e9;  // Of a phone that does 80e9 a second.
  Duration duration = std::chrono::seconds(30);  // Of the phase in which things break.
  std::uint32_t slow_nodes = 0;                  // So many of them …
  double slow_factor = 3;                        // … take so many times as long.
  std::uint32_t liars = 0;                       // Beside the nodes: see train_liar.h.
  Duration liar_interval = std::chrono::milliseconds(50);
  double rot = 0;           // How likely a record is lost on flash when it is read.
  bool newer_node = false;  // And one with a program of another version.
  LinkModel link{};
  Faults faults{};
};

// Some of everything, from the seed: 1 to 24 nodes.
TrainRunOptions RandomTraining(std::uint64_t seed);

inline constexpr Duration kTrainingLimit = std::chrono::minutes(5);
// With liars: they are found out one time after the other, and each time takes a while.
inline constexpr Duration kLiarsLimit = std::chrono::hours(2);

struct TrainRunResult {
  std::string failure;  // Empty: passed.
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;     // Committed, those that were lost again included.
  std::uint64_t epochs = 0;    // Of membership.
  std::uint64_t returned = 0;  // Samples of workers that were lost in a step.
  std::uint64_t rollbacks = 0;
  std::uint64_t head_restarts = 0;
  double seconds = 0;  // Virtual, from the first step to the last.
  double samples_per_second = 0;
};

TrainRunResult RunTraining(const TrainRunOptions& options, const Trace::Line& transcript);

}  // namespace shoal::sim
