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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "collective/communicator.h"
#include "train/cluster/chief_round.h"
#include "train/cluster/crew.h"
#include "train/cluster/holders.h"
#include "train/cluster/item_server.h"
#include "train/cluster/keeper.h"
#include "train/cluster/link_survey.h"
#include "train/cluster/link_table.h"
#include "train/cluster/reduce_plan.h"
#include "train/cluster/sample_pool.h"
#include "wire/control.h"

namespace shoal::train {

struct ChiefOptions {
  wire::pb::TrainJob job = {};
  SamplePool pool;                // Where the data stand.
  std::int64_t stop = 0;          // The iteration to end at.
  std::size_t workers_first = 1;  // Begins when so many are ready.
  bool nobody_else = false;       // They must all be able to: else it ends before it begins.
  ReduceWish reduce = {};
  std::function<void(const std::string&)> news = {};  // Lines for the operator; may be empty.
};

class Chief final : public NetworkEvents {
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

  // For operators and tests.
  std::int64_t iteration() const { return iteration_; }
  std::uint64_t epoch() const { return epoch_; }
  const Crew& crew() const { return crew_; }
  const std::optional<ChiefRound>& round() const { return round_; }

 private:
  void OnControl(NodeId from, const Frame& frame);
  void OnTrain(NodeId from, const wire::pb::TrainToHead& message);
  void OnReady(NodeId from, const wire::pb::TrainReady& ready);
  void OnDone(NodeId from, const wire::pb::TrainDone& done);
  void OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble);
  void OnTried(NodeId from, const wire::pb::TrainTried& tried);

  // Measures links of these nodes that were not tried before. False: there are none.
  bool BeginSurvey(std::vector<NodeId> nodes);
  void ContinueSurvey();
  void EndSurvey();
  // `from`, or the head itself, has done its part and hears nothing from the others.
  void OnWaiting(NodeId from);
  // Leaves out whoever has neither done its part nor waits.
  void LeaveSlow();

  // Calls the next round, if there is none and one is possible.
  void Next();
  bool Begin();
  std::int64_t IterationsOfStep() const;
  void BeginSync(std::optional<NodeId> donor, std::vector<NodeId> receivers, bool keeper);
  void BeginAverage();
  void BeginStep(const std::map<NodeId, std::int64_t>& shares);
  // Samples are dealt out in units of so many; shares count units.
  std::int64_t unit() const {
    return std::max(static_cast<std::int64_t>(options_.job.unit()), std::int64_t{1});
  }
  // Remembers who will have which record.
  std::map<NodeId, std::vector<Sample>> DealOut(const std::vector<Sample>& samples,
                                                const std::vector<std::int64_t>& shares,
                                                const std::vector<NodeId>& nodes);
  void Call(ChiefRound round);
  // Tells everybody in the round what to do, in a new epoch.
  void Tell();
  // How the group of a STEP adds up; says so if it is news.
  const ReducePlan& PlanOf(std::vector<NodeId> members);
  void WriteGroup(wire::pb::TrainGroup& out);
  void JoinSync();
  // Looks now and then whether the round goes on.
  void Watch();
  bool IsWaiting() const;
  void MaybeCommit();
  // Whether all have added up the same.
  bool Agree();
  void Commit();
  void CommitStep();
  void CommitSync();
  void Rollback();

  // Not for some time, longer each time.
  void Ban(NodeId node, const std::string& why);
  // `node` is not in step any more. Its part in the round, if any, is done by the others.
  void Leave(NodeId node);
  void Refuse(NodeId node, const std::string& why);
  void End(const Status& status);
  void Send(NodeId node, const wire::pb::TrainToNode& message);
  void Say(const std::string& line) const {
    if (options_.news) options_.news(line);
  }

  const Seams seams_;
  const ChiefOptions options_;
  Keeper& keeper_;
  ItemServer items_;
  Crew crew_;
  SamplePool pool_;
  Holders holders_;
  std::size_t workers_first_;
  std::optional<std::uint64_t> shape_;  // Of everybody's learner: that of the first.
  std::vector<std::uint64_t> buckets_;  // Floats of each; the shape has them, too.

  LinkTable links_;
  std::optional<LinkSurvey> survey_;  // Under way.
  Instant survey_begin_;
  std::vector<NodeId> survey_nodes_;
  std::map<std::uint64_t, LinkSurvey::Pair> trials_;  // Its pairs, by epoch.
  std::optional<ReducePlan> plan_;                    // Of the last STEP's members.
  std::string plan_line_;

  std::uint64_t epoch_ = 0;
  std::uint64_t rounds_ = 0;  // Called so far.
  std::optional<ChiefRound> round_;
  std::uint64_t committed_ = 0;                      // The last round that is, …
  double committed_loss_ = 0;                        // … if it was a STEP, …
  std::string committed_note_;                       // … if it was a SYNC.
  std::unique_ptr<collective::Communicator> group_;  // Of a SYNC that the head is in.
  Instant heard_;  // When the round last went on, as far as the head sees.

  std::int64_t iteration_ = 0;
  std::int64_t averaged_ = -1;  // The iteration of the last AVERAGE.
  SamplePool kept_pool_;        // Of the keeper's state.
  bool keeper_busy_ = false;
  bool stopping_ = false;
  bool over_ = false;
  Status status_;
  Instant begin_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
