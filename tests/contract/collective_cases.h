// What every collective promises (src/collective/communicator.h), as cases that one rank works
// through, whatever its network: collective_contract_test.cc runs them between threads, sockets and
// in the simulator, mpi_collectives.cc under mpirun.
//
// Inputs are functions of the case, the rank and the index, so every rank knows what must come out.
// Whole numbers add up exactly in any order; fractions show that all ranks got the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/network.h"
#include "base/time.h"
#include "collective/communicator.h"

namespace shoal {

enum class Operation : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kBarrier };

struct CollectiveCase {
  std::string name;
  Operation operation = Operation::kAllReduce;
  std::size_t elements = 0;
  collective::AllReduceOptions options = {};
  bool fractions = false;
  std::size_t root = 0;
};

// For this many ranks. `large`: rings of 64 MiB as well, whose chunks are larger than a frame. With
// SHOAL_ALL_SIZES in the environment: that size, and one that nothing divides, by every algorithm.
std::vector<CollectiveCase> CollectiveCases(std::size_t ranks, bool large);
// How long all of them may take.
Duration CollectiveLimit();

// The ranks behind each of some switches, of sizes that differ.
std::vector<std::vector<std::uint32_t>> SwitchesOf(std::size_t ranks);

// One rank: dials the others, does all cases, several at a time, and looks at what came out.
// Belongs to one event loop.
class CollectiveRank final : public NetworkEvents {
 public:
  using AddressOf = std::function<std::string(NodeId)>;

  CollectiveRank(Clock& clock, Network& network, const collective::Group& group,
                 std::vector<CollectiveCase> cases, const AddressOf& address_of);
  ~CollectiveRank() override;
  CollectiveRank(const CollectiveRank&) = delete;
  CollectiveRank& operator=(const CollectiveRank&) = delete;

  bool done() const { return ended_ == cases_.size() || failed_; }
  // What was wrong, in words; the first few.
  const std::vector<std::string>& errors() const { return errors_; }
  // Of each case's result: the same on all ranks.
  const std::vector<std::uint64_t>& fingerprints() const { return fingerprints_; }

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

 private:
  struct Task;  // A case under way.

  void BeginMore();
  void Begin(std::size_t index);
  void End(std::size_t index, const Status& status);
  void Check(const Task& task);
  void Complain(const CollectiveCase& which, const std::string& what);

  const std::vector<CollectiveCase> cases_;
  collective::Communicator communicator_;
  Network& network_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
  bool failed_ = false;  // A member was lost: nothing more can come.
  std::size_t bytes_under_way_ = 0;
  std::vector<std::unique_ptr<Task>> tasks_;  // By case; null: not begun, or over.
  std::vector<std::string> errors_;
  std::vector<std::uint64_t> fingerprints_;
};

}  // namespace shoal
