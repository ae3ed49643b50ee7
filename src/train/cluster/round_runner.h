// RoundRunner: carries a round of a training through: tells everybody in it what to do, does the
// head's own part, and hears who has it whole, who has lost whom and who waits, until all have it
// or nobody is left.
//
// Every try is an epoch. When somebody leaves, or two have lost each other, the others are told
// anew, and what was not done is done again. Which round comes next, and what a round that is done
// means, is its owner's business.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/network.h"
#include "base/seams.h"
#include "base/status.h"
#include "collective/communicator.h"
#include "train/cluster/chief_round.h"
#include "train/cluster/crew.h"
#include "train/cluster/group_planner.h"
#include "train/cluster/keeper.h"
#include "train/cluster/learner.h"
#include "wire/control.h"

namespace shoal::train {

// What its owner hears and does. From inside of these the runner may be called.
class RoundEvents {
 public:
  virtual ~RoundEvents() = default;

  // Everybody has the round whole, and the same. Calls Close.
  virtual void OnRoundDone() = 0;
  // The node cannot take part in anything any more.
  virtual void OnUnfit(NodeId node, const std::string& why) = 0;
  // The nodes should stay away for a while, and the round goes on without them.
  virtual void OnBlamed(const std::vector<NodeId>& nodes, const std::string& why) = 0;
  // The head itself cannot go on.
  virtual void OnFailure(const Status& status) = 0;
  // The training has ended: nobody waits for the round any more.
  virtual bool IsOver() const = 0;

  virtual void Send(NodeId node, const wire::pb::TrainToNode& message) = 0;
  virtual void Say(const std::string& line) const = 0;
};

class RoundRunner {
 public:
  // All outlive it. `job`: its id.
  RoundRunner(const Seams& seams, std::string job, Crew& crew, Keeper& keeper,
              GroupPlanner& planner, RoundEvents& events);
  RoundRunner(const RoundRunner&) = delete;
  RoundRunner& operator=(const RoundRunner&) = delete;

  // One that nobody else has: of a try, or of a trial.
  std::uint64_t NewEpoch() { return ++epoch_; }
  std::uint64_t epoch() const { return epoch_; }

  // REQUIRES: none is under way.
  void Call(ChiefRound round);
  // The one that is under way; null: none.
  ChiefRound* round() { return round_ ? &*round_ : nullptr; }
  // It is over.
  void Close();
  // `node` is not in step any more: its part in the round, if any, is done by the others. What it
  // was to compute.
  std::vector<Sample> Leave(NodeId node);

  // What nodes of the crew say.
  void OnDone(NodeId from, const wire::pb::TrainDone& done);
  // It has lost somebody, or waits. `text`: what it says of that.
  void OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble, const std::string& text);

  // What the network says.
  void OnPeerUp(NodeId peer);
  void OnSums(NodeId from, Frame frame);
  void OnWritable(NodeId peer);

 private:
  // Tells everybody in the round what to do, in a new epoch.
  void Tell();
  // The head's own part: from its keeper to the newcomers, or from a worker to its keeper.
  void JoinSync();
  void OnBroadcast(const Status& status);
  // Looks now and then whether the round goes on.
  void Watch();
  // `from`, or the head itself, has done its part and hears nothing from the others.
  void OnWaiting(NodeId from);
  // Leaves out whoever has neither done its part nor waits.
  void LeaveSlow();
  void MaybeDone();

  const Seams seams_;
  const std::string job_;
  Crew& crew_;
  Keeper& keeper_;
  GroupPlanner& planner_;
  RoundEvents& events_;
  std::uint64_t epoch_;
  std::optional<ChiefRound> round_;
  std::unique_ptr<collective::Communicator> group_;  // Of a SYNC that the head is in, …
  std::size_t parts_left_ = 0;                       // … and how much of it is to come.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
