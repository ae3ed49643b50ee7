// Coordinator: the head of a cluster. Knows its nodes, keeps pipelines over them, and answers.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/seams.h"
#include "coordinator/accounts.h"
#include "coordinator/auditor.h"
#include "coordinator/caretaker.h"
#include "coordinator/event_log.h"
#include "coordinator/lines.h"
#include "coordinator/roster.h"
#include "pipeline/answer_book.h"
#include "pipeline/answer_store.h"
#include "pipeline/answers.h"
#include "pipeline/head_model.h"
#include "pipeline/layer_server.h"
#include "pipeline/layer_store.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

struct CoordinatorOptions {
  ModelPlan model;
  std::size_t context = 0;      // Of one answer with its prompt.
  std::size_t open_max = 1024;  // Answers that run or wait.
  // Answers that cannot begin or go on for so long, for want of phones, fail.
  Duration wait_max = std::chrono::minutes(10);
  pipeline::ReplicaOptions replica;
  std::set<std::uint64_t> revoked;  // Serials of certificates that are void.
  double audit = 0;                 // The share of all work that is computed again; 0: none is.
  std::map<NodeId, std::string> quarantined;  // Who computed wrongly, and the evidence.
  // To be remembered: somebody joins these. May be empty.
  std::function<void(NodeId, const std::string&)> on_quarantine;
  // Lines for the operator; may be empty.
  std::function<void(const std::string&)> news;
  // As in Caretaker.
  std::function<int()> local_minute;
  std::map<NodeId, WorkRules> rules;
  // For the times of events; may be empty.
  std::function<std::int64_t()> unix_time;
  AccountsOptions accounts;
};

// A node that is silent for so long is gone: while it is needed for an answer, and otherwise.
inline constexpr Duration kSilenceBusy = std::chrono::milliseconds(750);
inline constexpr Duration kSilenceIdle = std::chrono::seconds(3);
inline constexpr Duration kTickInterval = std::chrono::milliseconds(50);
// Nodes are looked after so often, and whenever they say something.
inline constexpr Duration kTendInterval = std::chrono::seconds(1);

class Coordinator final : public NetworkEvents,
                          public pipeline::Answers,
                          private LinesEvents,
                          private AuditorEvents {
 public:
  // Everything outlives it. Attaches itself to the network, and goes on with what `store` holds.
  // `layers` has all of the model.
  Coordinator(const Seams& seams, CoordinatorOptions options,
              std::shared_ptr<pipeline::HeadModel> model, pipeline::LayerStore& layers,
              pipeline::AnswerStore& store);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Network
  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

  // Answers
  Status Ask(pipeline::Question question, pipeline::AnswerEvents* events) override;
  Status Listen(const std::string& id, std::size_t first, pipeline::AnswerEvents* events) override;
  const pipeline::AnswerRecord* Find(const std::string& id) const override;
  void Forget(pipeline::AnswerEvents* events) override;
  void Stop(const std::string& id) override { EndEarly(id, pipeline::AnswerEnd::kStopped); }
  void Cancel(const std::string& id) override { EndEarly(id, pipeline::AnswerEnd::kCancelled); }
  std::size_t context() const override { return options_.context; }

  // For operators and tests.
  const Roster& roster() const { return roster_; }
  const Lines& lines() const { return lines_; }
  std::size_t answers_running() const { return running_.size(); }
  std::size_t answers_waiting() const { return queue_.size(); }
  const std::map<NodeId, std::string>& quarantined() const { return quarantined_; }
  AuditTally audits() const { return auditor_ ? auditor_->tally() : AuditTally(); }
  // Whatever it did, it gets work again.
  void Pardon(NodeId node);
  const Accounts& accounts() const { return accounts_; }
  const EventLog& events() const { return events_; }
  // Holds until it is taken back, also if the node goes and comes again. kNotFound: no such node is
  // here, nor is being drained.
  Status Drain(NodeId node, bool draining);
  // Counts at once, also for a node that is not here. REQUIRES: CheckWorkRules.
  void SetRules(NodeId node, const WorkRules& rules);
  // What a node may do; free if it was never here.
  const CareVerdict& VerdictOn(NodeId node) { return caretaker_.VerdictOn(node); }
  // Why no answer is being made; empty: they are, or will be in a moment.
  const std::string& why_waiting() const { return why_waiting_; }
  // `node` is out; all others hear which certificates are void.
  void Revoke(NodeId node, const std::set<std::uint64_t>& serials);

 private:
  void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) override;
  void OnDamaged(std::uint64_t sequence) override;
  void OnHomeless(const std::vector<std::uint64_t>& sequences) override;
  void OnLinesChanged() override;
  void OnUnfit(NodeId node, const Status& why) override;
  void OnNews(const std::string& line) override;
  std::uint64_t NextAudit() override { return lines_.NextEpoch(); }
  void OnGuilty(NodeId node, const std::string& evidence) override;
  void OnDispute(const Dispute& dispute) override;

  std::unique_ptr<Auditor> MakeAuditor(pipeline::LayerStore& layers);
  void Admit();
  void NoteTrust(NodeId node, const WorkRules& rules);
  void Relay(NodeId from, NodeId to, Frame frame);
  void Quarantine(NodeId node, const std::string& evidence);
  void Settle(const Dispute& dispute);
  void MakeAgain(std::uint64_t sequence, const Status& why);
  // It runs no more, and what it took is in the book; its answer's id.
  std::string Close(std::uint64_t sequence);
  // A sequence that was running is not any more.
  void NoteOver(std::uint64_t sequence, const std::string& id);
  void EndEarly(const std::string& id, pipeline::AnswerEnd how);
  void Finish(std::uint64_t sequence, pipeline::AnswerEnd how, const Status& status);
  void Lose(NodeId node, const Status& why);
  void TellRevoked(NodeId node);
  // Gives a node as much to do as is good for it.
  void Tend(NodeId node);
  void FailAll(const Status& why);
  // `from` sent a frame that means nothing; said once.
  void Ignore(NodeId from, const Status& why);
  // Happened, and is no news to those who read along.
  void Note(const std::string& line);
  void Tick();

  const Seams seams_;
  const CoordinatorOptions options_;
  const std::shared_ptr<pipeline::HeadModel> model_;
  Roster roster_;
  Accounts accounts_;
  EventLog events_;
  pipeline::LayerServer server_;
  pipeline::AnswerBook book_;
  std::unique_ptr<Auditor> auditor_;  // Null: nothing is audited.
  std::map<NodeId, std::string> quarantined_;
  std::set<NodeId> trusted_;
  std::set<NodeId> drained_;
  // Found out since the last tick.
  std::vector<std::pair<NodeId, std::string>> guilty_;
  std::vector<Dispute> disputes_;
  std::map<std::uint64_t, std::string> over_;  // Ids of the last sequences that are over.
  Lines lines_;
  Caretaker caretaker_;
  std::deque<std::string> queue_;  // Answers that wait for room in a line.
  std::map<std::uint64_t, std::string> running_;
  std::map<std::string, std::uint64_t> numbers_;  // Of those in running_.
  std::uint64_t next_number_ = 1;
  std::set<std::uint64_t> revoked_;
  std::string why_waiting_;
  Instant waiting_since_;
  Instant last_tick_;
  Instant tend_at_;
  TimerId tick_{};
};

}  // namespace shoal::coordinator
