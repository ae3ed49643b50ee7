// Communicator: the members of one epoch, numbered, and the collectives they do together. Runs on
// any Network: sockets, threads, MPI, or the simulator's.
//
// The n-th collective begun by one rank is the n-th begun by every rank, of the same kind and size;
// several may be under way at once, and what comes early waits. A message that fits nothing (an
// element count that differs, a kind that differs) fails the collective that it is for: somebody
// has another model or another batch.
//
// A communicator lives for one epoch. When a member is lost it cannot go on: the owner drops it,
// which drops what is under way without a word, and makes one for the next epoch. What was to be
// reduced is untouched (`input` is never written), so the survivors begin again from it.
//
// Belongs to one event loop. `done` runs on it, never inside the call that began the collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/network.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "collective/schedule.h"

namespace shoal::collective {

enum class Algorithm : std::uint8_t { kRing, kHalvingDoubling, kHierarchical };

// Numbers as they travel. kF16: with a power of two per collective, agreed by all ranks, that
// brings the largest sum there can be into the range of F16; sums are made in F32.
enum class WireType : std::uint8_t { kF32, kF16 };

struct Group {
  std::uint64_t epoch = 0;      // Not 0.
  std::vector<NodeId> members;  // By rank.
  std::size_t rank = 0;         // Of this node.
  // Ranks behind one switch, for kHierarchical. Empty: one group.
  std::vector<std::vector<std::uint32_t>> switches = {};
};

struct AllReduceOptions {
  Algorithm algorithm = Algorithm::kRing;
  Pieces pieces = {};
  WireType wire = WireType::kF32;
  float scale = 1;  // Of this rank's input: b_i / B.
};

class EarlyFrames;
class Outbox;
struct FrameHeader;

class Communicator {
 public:
  using Done = UniqueFunction<void(Status)>;

  // REQUIRES: an epoch that is not 0, members that differ, a rank among them; `clock` and `network`
  // outlive it. Sends to members as soon as they are up; who must be
  // connected, and what is done when somebody is lost, is the owner's business.
  Communicator(Clock& clock, Network& network, Group group);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::uint64_t epoch() const { return group_.epoch; }
  std::size_t rank() const { return group_.rank; }
  std::size_t size() const { return group_.members.size(); }
  const Group& group() const { return group_; }

  // output = the sum over ranks of scale · input. Spans of one length, the same on all ranks, that
  // do not overlap and stay until `done`. kInvalidArgument: kHierarchical, and group().switches are
  // not groups of the ranks.
  void AllReduce(std::span<const float> input, std::span<float> output,
                 const AllReduceOptions& options, Done done);
  // The same; only `output` of `root` is what it says, that of others is scratch.
  void Reduce(std::span<const float> input, std::span<float> output, std::size_t root, Done done);
  // `data` of all others becomes that of `root`.
  void Broadcast(std::span<float> data, std::size_t root, Done done);
  // begins: size() + 1 of them; rank r brings data[begins[r] … begins[r + 1]).
  void AllGather(std::span<float> data, std::span<const std::uint64_t> begins, Done done);
  void Barrier(Done done);

  // Members that this rank exchanges messages with, for the collectives begun so far and for
  // AllReduce with `options`: whom to dial.
  std::set<NodeId> Peers(const AllReduceOptions& options) const;

  // What the owner hears from the network. OnFrame: a frame of Traffic::kActivations whose
  // FrameEpoch is this one's. kCorruption: no correct peer sends it; the frame is ignored.
  Status OnFrame(NodeId from, Frame frame);
  void OnPeerUp(NodeId peer);
  void OnWritable(NodeId peer);

  // Whose message made a collective fail, if one has failed for that.
  const std::optional<NodeId>& misfit() const { return misfit_; }

  // Handed to the network so far, headers included.
  std::uint64_t bytes_sent() const;

 private:
  class Run;  // One collective.

  Place place() const { return {group_.rank, group_.members.size()}; }
  Schedule AllReduceSchedule(const AllReduceOptions& options, std::size_t elements) const;
  void AllReduceF16(std::span<const float> input, std::span<float> output,
                    const AllReduceOptions& options, Done done);
  // Makes it the next collective, and gives it what came early.
  Run& Enter(std::unique_ptr<Run> run);
  void Begin(std::unique_ptr<Run> run);
  Status OnMessage(std::size_t rank, const FrameHeader& header, Frame frame);
  Status Accept(Run& run, std::size_t rank, const FrameHeader& header, Frame frame);
  void AdvanceAll();
  // Goes on with it, and ends it if it is over.
  void Advance(Run& run);
  void End(std::uint32_t number);
  void Post(Done done, Status status);

  Clock& clock_;
  const Group group_;
  std::map<NodeId, std::size_t> rank_of_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<EarlyFrames> early_;
  std::uint32_t next_ = 0;                              // Its number.
  std::map<std::uint32_t, std::unique_ptr<Run>> runs_;  // Under way.
  std::set<std::uint32_t> failed_;
  std::optional<NodeId> misfit_;
  std::set<NodeId> peers_;  // Of those begun so far.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

// Whether it is a collective's frame, and of which epoch; 0: it is something else, or damaged.
std::uint64_t FrameEpoch(const Frame& frame);

}  // namespace shoal::collective
