// Lines: all pipelines of the model, side by side. A node serves one of them at most; nodes that
// serve none are spares: for repairs, and for another line as soon as they can carry one.
//
// A line that breaks is repaired with its own nodes and spares. If that cannot be done, and there
// is another line, it ends: its answers look for a place in the others, and its nodes are spares.
// When nodes turn out to be faster or slower than they promised, layers move (balance.h).
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/line.h"
#include "coordinator/move_budget.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::coordinator {

class LinesEvents {
 public:
  virtual ~LinesEvents() = default;
  // As in pipeline::ReplicaEvents.
  virtual void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) = 0;
  virtual void OnDamaged(std::uint64_t sequence) = 0;
  // These must go on elsewhere; they have been removed.
  virtual void OnHomeless(const std::vector<std::uint64_t>& sequences) = 0;
  // There may be room for answers, or why_waiting has changed.
  virtual void OnLinesChanged() = 0;
  // As in FormationEvents.
  virtual void OnUnfit(NodeId node, const Status& why) = 0;
  virtual void OnNews(const std::string& line) = 0;
};

class Lines final : private LineEvents {
 public:
  // Everything outlives it. `epoch_base`: epochs are numbers above it.
  Lines(const LineWorld& world, std::uint64_t epoch_base, LinesEvents& events);
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // A node can be used; its link is down; it is to go when others have its layers.
  void OnArrived();
  void OnLost(NodeId node, Instant heard, const Status& why);
  void OnDraining(NodeId node);
  // As in Formation.
  void OnResting(NodeId node, bool at_once);
  // What nodes say.
  void OnState(NodeId node, const wire::pb::StageState& state);
  void OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble);
  void OnBatch(NodeId from, wire::Batch batch);
  // Two neighbours say different things of what passed between them: from now on it passes the
  // head.
  void OnDispute(NodeId sender, NodeId receiver);
  // Whether a batch that the head is to pass on comes from a stage and is for the next one.
  bool MayPass(NodeId from, const wire::Batch& batch) const;
  // Looks at deadlines; to be called some ten times a second.
  void Tick();

  // Whether a line that runs has room for so many positions.
  bool HasRoom(std::size_t positions) const;
  // Gives an answer to the line where its tokens will come soonest. REQUIRES: HasRoom(positions).
  void Add(std::uint64_t sequence, std::size_t positions, std::vector<std::int32_t> history,
           std::shared_ptr<llm::Sampler> sampler);
  void Remove(std::uint64_t sequence);

  // At least one.
  const std::vector<std::unique_ptr<Line>>& lines() const { return lines_; }
  bool AnyRunning() const;
  // Why no answer is being made; empty: they are, or will be in a moment.
  std::string why_waiting() const;
  // Whether an answer that is being made depends on `node`.
  bool Needs(NodeId node) const;
  // A number that no pipeline has had.
  std::uint64_t NextEpoch() override { return ++epoch_; }

 private:
  void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) override;
  void OnDamaged(std::uint64_t sequence) override;
  void OnLineState() override;
  void OnUnfit(NodeId node, const Status& why) override;
  void OnNews(const std::string& line) override;
  void OnMoves(const std::vector<NodeId>& nodes) override;
  Means MeansOf(const Line& line) const override;
  double PriceOfLayer(NodeId node, std::int64_t layer) const;

  // Who has `node`; nullptr: nobody.
  Line* Owner(NodeId node) const;
  std::set<NodeId> TakenByOthers(const Line* line) const;
  // Those that nobody has, and that have not failed lately.
  pipeline::PlanCluster Spares() const;
  pipeline::PlanWish WishBeside(std::size_t others) const;
  Line& AddLine();
  void EndVacant();
  void MoveAnswers(Line& line);
  void LookSoon();
  void Look();
  void Grow();
  void BalanceSoon(Duration delay);
  void BalanceAll();
  void BalanceLine(Line& line);

  const LineWorld world_;
  LinesEvents& events_;
  std::uint64_t epoch_;
  std::vector<std::unique_ptr<Line>> lines_;
  std::map<std::uint64_t, Line*> homes_;  // Of every sequence.
  Instant look_at_;                       // When another line may be possible.
  bool improve_ = false;                  // Whether then those there are may change, too.
  MoveBudget budget_;
  Instant balance_at_;         // When layers may have to move.
  std::uint64_t beliefs_ = 0;  // Of the roster, when that was last looked at.
};

}  // namespace shoal::coordinator
