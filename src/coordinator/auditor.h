// Auditor: finds phones that compute wrongly, broken or lying. Keeps the ledger of what nodes say,
// and has a random part of the work of stages computed again, from the rows that they were given,
// by another node or by the head: the bits must be the same. What differs is computed a third time
// before anybody is blamed.
//
//   guilty  whose result two others do not get, or who cannot show the rows that it said it had
//           made, or who said something else of rows than what the head saw of them;
//   void    an audit for which rows or layers cannot be had: nobody is blamed for it;
//   excuse  what a node must have and does not show, or must have done and does not account for.
//           One is forgiven every half hour; who makes sixteen is guilty.
//
// Belongs to one event loop. One audit at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
#include "coordinator/audit_lots.h"
#include "coordinator/formation.h"
#include "coordinator/ledger.h"
#include "coordinator/recomputer.h"
#include "coordinator/roster.h"
#include "pipeline/head_model.h"
#include "pipeline/layer_store.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

class AuditorEvents {
 public:
  virtual ~AuditorEvents() = default;
  // A number that no pipeline and no audit has had.
  virtual std::uint64_t NextAudit() = 0;
  // `node` is found out.
  virtual void OnGuilty(NodeId node, const std::string& evidence) = 0;
  // One of the two is wrong: from now on their batches must pass the head, which then sees who. The
  // sequence may have been made from rows that nobody owns up to.
  virtual void OnDispute(const Dispute& dispute) = 0;
  virtual void OnNews(const std::string& line) = 0;
};

struct AuditTally {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;
  std::uint64_t voided = 0;
  std::uint64_t excuses = 0;  // That nodes made.
  double work = 0;            // Rows times layers that were computed again, …
  double of_work = 0;         // … of so many that nodes have accounted for.
};

class Auditor final : public pipeline::BatchObserver {
 public:
  // Everything outlives it. `budget`: the share of all stages' work that is computed again.
  Auditor(const Seams& seams, Roster& roster, const ModelPlan& model,
          std::shared_ptr<pipeline::HeadModel> head, pipeline::LayerStore& layers, double budget,
          AuditorEvents& events);

  // What passes.
  void OnSent(const pipeline::Route& route, const wire::Batch& batch,
              const std::vector<std::int32_t>& tokens, std::vector<std::uint64_t> hashes) override;
  void OnReturned(const wire::Batch& batch) override;
  // False: it is not to be passed on.
  bool OnRelayed(const wire::Batch& batch);
  // No more of it comes: its work can be looked at.
  void OnOver(std::uint64_t sequence);
  // What nodes say. Those that are not of audits are ignored.
  void OnReceipts(NodeId from, const wire::pb::Receipts& receipts);
  void OnState(NodeId from, const wire::pb::StageState& state) { recomputer_.OnState(from, state); }
  void OnBatch(NodeId from, const wire::Batch& batch);
  void OnRowsGone(NodeId from, std::uint64_t audit);
  void OnLost(NodeId node);
  // What passed a node since its work was last found right; asked when it has no more.
  std::vector<std::uint64_t> TakeTouched(NodeId node);
  // To be called some ten times a second.
  void Tick();

  const AuditTally& tally() const { return tally_; }

 private:
  struct Ended {
    std::uint64_t sequence = 0;
    Instant at;
    std::uint64_t rows_sent = 0;  // By then, of all sequences.
  };
  struct Audit {
    StageWork work;
    std::vector<std::int32_t> tokens;
    Ended ended;
    // Of a second opinion: who differed, where, and what it made there.
    NodeId doubter{};
    std::size_t doubted_at = 0;
    std::uint64_t doubter_made = 0;
    bool settled = false;  // The head itself is asked, and its word is the last.
    bool at_head = false;  // Whoever else was asked did not answer.
  };
  // Shows something else than it had said. It is not blamed before all that it may have to say of
  // why has come.
  struct Suspect {
    NodeId node{};
    std::string evidence;
    Instant at;
  };
  // Of one node.
  struct Excuses {
    double count = 0;
    Instant at;                    // When the last one was made.
    Ledger::BatchName batch = {};  // The last one that was left out.
  };
  void Settle();
  void Pick(const Ended& ended);
  void StartNext();
  void Start(Audit audit);
  NodeId ChooseWhere(const Audit& audit);
  void Next();
  void OnRows(std::vector<std::uint16_t> rows);
  void OnMade(const Result<std::vector<std::uint64_t>>& made);
  void EmbedRows(std::size_t count);
  void Void();
  // Whoever computes does not answer, or must not any more: the head does it.
  void TryAtHead();
  // The stage before shows no rows, or too few.
  void RowsMissing(const std::string& what);
  // Whether the stage before must still have the rows that it made.
  bool MustBeKept(const Audit& audit) const;
  // Whether the node's link was down at some time since shortly before then: it may have lost what
  // it knew.
  bool WasLostSince(NodeId node, Instant then) const;
  void Right();
  void Differs(std::size_t position, std::uint64_t made);
  void Blame(NodeId node, const std::string& evidence);
  void Excuse(NodeId node, const std::string& what);
  void HearDisputes(const std::vector<Dispute>& disputes);
  void HearContradictions();
  // Of a node that was misled, what was said before is no evidence.
  void HearMisled();
  void BlameSuspects();

  const Seams seams_;
  Roster& roster_;
  const ModelPlan& model_;
  const std::shared_ptr<pipeline::HeadModel> head_;
  AuditLots lots_;
  AuditorEvents& events_;
  Ledger ledger_;
  Recomputer recomputer_;

  std::vector<Ended> ended_;
  std::deque<Audit> waiting_;
  std::optional<Audit> audit_;  // The one that runs.
  std::size_t at_ = 0;          // Its next position, …
  std::size_t count_ = 0;       // … and how many are being computed; 0: none.
  bool wants_rows_ = false;     // Of the stage before.
  Instant deadline_;
  // What passed a node since its work was last found right.
  std::map<NodeId, std::set<std::uint64_t>> touched_;
  std::set<std::uint64_t> over_;  // Of those, the ones that are over.
  std::map<NodeId, Excuses> excuses_;
  std::vector<Suspect> suspects_;
  std::map<NodeId, Instant> lost_;  // When, the last time.
  AuditTally tally_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::coordinator
