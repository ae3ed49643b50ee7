// What `shoal time` measured, and the two ways of saying it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

// Seconds are those of the fastest run of each; 0: it did not run.
struct NodeTimes {
  std::string layers;  // "conv1+relu1"
  std::string kind;    // Of the first: "Convolution".
  std::string implementations;
  double forward = 0;
  double backward = 0;
  double again = 0;           // Forward once more, to save memory.
  double forward_flops = 0;   // Of convolutions and inner products; others count 0.
  double backward_flops = 0;  // Of the gradients that are wanted.
};

struct TimeReport {
  std::string net;
  std::int64_t batch = 0;
  std::size_t threads = 0;
  std::string backend;
  std::int64_t iterations = 0;
  double seconds_best = 0;  // Of an iteration.
  double seconds_median = 0;
  double update_seconds = 0;  // Of the solver's part in it.
  double loss = 0;            // After the last iteration.
  double peak_gflops = 0;     // Of this machine, on as many threads.
  std::size_t tuned = 0;      // Passes measured in this run.

  std::uint64_t arena_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t idle_bytes = 0;  // Resident before the network was built.
  std::uint64_t peak_bytes = 0;  // Resident at most; 0: the system does not say.
  std::size_t copies = 1;        // Of the parameters: with gradients and momentum 3.
  double again_share = 0;        // Multiply-adds computed again, of all of forward.

  std::vector<NodeTimes> nodes;

  double flops() const;
  // Beyond the idle process, parameters, gradients and momentum. May be negative.
  double extra_bytes() const;
};

nlohmann::ordered_json ToJson(const TimeReport& report);
std::string ToText(const TimeReport& report);

}  // namespace shoal
