// Chief: the head of a training. Calls one round after the other, each done by all and committed
// once all have it whole:
//
//   SYNC     who is new gets the weights of somebody who is in step; so does the keeper, when it
//            wants to test or to save
//   AVERAGE  statistics of normalisations, before that
//   STEP     a batch: dealt out by speed, gradients added up, every weight updated alike
//
// A node that is lost leaves the round: its samples go back, an epoch begins, and the others do
// again what was not done. Only the head decides who is in a round and that it is committed, so
// there is never more than one truth; what a cut-off node computes is nobody's.
//
// Before newcomers get the weights, the links between them and the others are measured, for less
// than a second; how gradients are added up follows from that (reduce_plan.h).
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "train/cluster/chief_round.h"
#include "train/cluster/crew.h"
#include "train/cluster/group_planner.h"
#include "train/cluster/item_server.h"
#include "train/cluster/keeper.h"
#include "train/cluster/learner_shape.h"
#include "train/cluster/link_measuring.h"
#include "train/cluster/reduce_plan.h"
#include "train/cluster/round_runner.h"
#include "train/cluster/sample_dealer.h"
#include "train/cluster/sample_pool.h"
#include "wire/control.h"

namespace shoal::train {

struct ChiefOptions {
  wire::pb::TrainJob job = {};
  LearnerShape shape = {};        // Of what is built for it.
  SamplePool pool;                // Where the data stand.
  std::int64_t stop = 0;          // The iteration to end at.
  std::size_t workers_first = 1;  // Begins when so many are ready.
  bool nobody_else = false;       // They must all be able to: else it ends before it begins.
  ReduceWish reduce = {};
  std::function<int()> local_minute = {};             // For the hours that owners wish; see Crew.
  std::function<void(const std::string&)> news = {};  // Lines for the operator; may be empty.
};

class Chief final : public NetworkEvents, private RoundEvents {
 public:
  // All outlive it. Attaches itself to the network.
  Chief(const Seams& seams, ChiefOptions options, Keeper& keeper, ReadRecord read);
  ~Chief() override;
  Chief(const Chief&) = delete;
  Chief& operator=(const Chief&) = delete;

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

  // Begins when so many are ready, which may be fewer than was said first: some will not come.
  void Expect(std::size_t workers);
  // Ends after the round that is under way, with the keeper up to date.
  void Stop();
  // It has ended; status() says how.
  bool over() const { return over_; }
  const Status& status() const { return status_; }
  // The keeper tests or saves what it got.
  bool keeping() const { return keeper_busy_; }

  // For operators and tests.
  std::int64_t iteration() const { return iteration_; }
  std::uint64_t epoch() const { return runner_.epoch(); }
  const Crew& crew() const { return crew_; }

 private:
  void OnControl(NodeId from, const Frame& frame);
  void OnTrain(NodeId from, const wire::pb::TrainToHead& message);
  void OnReady(NodeId from, const wire::pb::TrainReady& ready);
  // It has lost somebody, or cannot do what it was told.
  void OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble);

  // What the runner of rounds says.
  void OnRoundDone() override;
  void OnUnfit(NodeId node, const std::string& why) override;
  void OnBlamed(const std::vector<NodeId>& nodes, const std::string& why) override;
  void OnFailure(const Status& status) override { End(status); }
  bool IsOver() const override { return over_; }
  void Send(NodeId node, const wire::pb::TrainToNode& message) override;
  void Say(const std::string& line) const override {
    if (options_.news) options_.news(line);
  }

  // Calls the next round, if there is none and one is possible.
  void Next();
  bool MayBegin() const;
  // Those of these nodes that are not known, if that is wanted. False: nothing is to be done.
  bool MeasureLinks(std::vector<NodeId> nodes);
  void OnLinks(const std::string& line);
  void BeginSync(std::optional<NodeId> donor, std::vector<NodeId> receivers, bool keeper);
  void BeginAverage();
  void BeginStep(const std::map<NodeId, std::int64_t>& shares);
  void Call(ChiefRound round);
  // Of a SYNC: what rank 0 says of the weights that it has given.
  Status CheckNote(const ChiefRound& round) const;
  void CommitStep();
  void CommitSync();
  void Rollback();

  // `node` is not in step any more. Its part in the round, if any, is done by the others.
  void Leave(NodeId node);
  void End(const Status& status);

  const Seams seams_;
  const ChiefOptions options_;
  Keeper& keeper_;
  ItemServer items_;
  Crew crew_;
  SampleDealer dealer_;
  std::size_t workers_first_;
  LinkMeasuring links_;
  GroupPlanner planner_;
  RoundRunner runner_;
  std::uint64_t rounds_ = 0;  // Called so far.
  Committed committed_;
  std::int64_t iteration_ = 0;
  std::int64_t averaged_ = -1;  // The iteration of the last AVERAGE.
  bool keeper_busy_ = false;
  bool stopping_ = false;
  bool over_ = false;
  bool told_of_rest_ = false;  // That nobody may work now.
  Status status_;
  Instant begin_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
