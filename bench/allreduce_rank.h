// One rank of the all-reduce benchmark: a process among others, found by the addresses it is given.
// allreduce.py starts them, each in a network namespace of its own, and reads what they print.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal::bench {

// How a list of gradients is added up.
enum class Packing {
  kRing,     // All as one, in pieces that are passed on as they come.
  kPacked,   // All as one, in whole chunks: the paper's way.
  kEach,     // A ring for each, one after the other: what the paper compares with.
  kBuckets,  // Rings of a few megabytes each, several under way: as gradients become ready.
};

struct AllReduceRankOptions {
  std::size_t rank = 0;
  std::vector<std::string> addresses;  // "10.77.0.1:7400", by rank.
  std::string tls;                     // The folder that MakeIdentities filled. Empty: plain.
  std::vector<std::vector<std::size_t>> lists;  // Each timed: the elements of its gradients.
  Packing packing = Packing::kRing;
  std::size_t piece_elements = 0;  // 0: as the library has it.
  std::size_t ahead = 0;           // 0: as the library has it.
};

// Seconds of this rank for each list, from a barrier to its end. Fails if a sum is wrong.
Result<std::vector<double>> RunAllReduceRank(const AllReduceRankOptions& options);

// The same lists, each as one, by MPI_Allreduce, on a rank that mpirun has started.
Result<std::vector<double>> RunMpiAllReduceRank(const std::vector<std::vector<std::size_t>>& lists);

// Writes what `ranks` ranks need to know each other.
Status MakeIdentities(const std::string& folder, std::size_t ranks);

}  // namespace shoal::bench
