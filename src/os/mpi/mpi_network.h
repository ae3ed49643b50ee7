// MpiHub: the Network (base/network.h) between the ranks of a program that mpirun has started, over
// MPI's point-to-point messages.
//
// Node 1, the head, is in the process of rank 0; node r + 2 is the worker of rank r. So rank 0 has
// two endpoints, and frames between them stay in the process. MPI knows everybody: who is dialled
// is up at once. A link ends with Disconnect and with the hub of one of its ends; when a rank dies
// mpirun ends the others.
//
// Belongs to one event loop, whose thread alone calls MPI and must be the one that will do so at
// the end of main. One hub a process, once: MPI cannot be started again.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/network.h"
#include "base/status.h"
#include "os/loop.h"

namespace shoal::os {

class MpiHub {
 public:
  // Starts MPI. kUnavailable: this build has none. kInvalidArgument: it was started before.
  static Result<std::unique_ptr<MpiHub>> Make(Loop& loop);

  // Whether mpirun started this program.
  static bool LaunchedByMpirun();
  // How many ranks share this machine, as far as mpirun says; at least 1.
  static std::size_t RanksHere();

  static constexpr NodeId WorkerOf(std::size_t rank) { return NodeId{rank + 2}; }
  // What Connect wants: "mpi:7".
  static std::string AddressOf(NodeId node);

  MpiHub() = default;
  MpiHub(const MpiHub&) = delete;
  MpiHub& operator=(const MpiHub&) = delete;
  // Tells the peers, and waits until the hubs of all ranks are destroyed: MPI ends together. Not
  // inside an event.
  virtual ~MpiHub() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;

  // REQUIRES: `node` lives in this process: WorkerOf(rank()) or, on rank 0, kHeadNode.
  virtual Network& Endpoint(NodeId node) = 0;

  // out = the sum of all ranks' `in`, by MPI_Allreduce: what others do, to compare with. Called by
  // all ranks with the same length; waits for all of them, and the loop stands still meanwhile.
  virtual Status AllReduceSum(std::span<const float> in, std::span<float> out) = 0;
};

}  // namespace shoal::os
