// Serving: the layers that a node is told to hold: gets them, applies them to batches, passes these
// on, and tells the head how that goes.
//
//   assign ──▶ layers, a link to the next ──▶ ready ──▶ begin, or the first batch of the epoch
//   batch ──▶ job: layers applied ──▶ next stage, or the head
//
// The epoch that runs goes on until the next one begins. Belongs to one event loop. Its owner
// passes on what the network says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/assignment.h"
#include "agent/kept_rows.h"
#include "agent/layer_fetcher.h"
#include "agent/news.h"
#include "agent/receipt_book.h"
#include "agent/stage_work.h"
#include "agent/step_times.h"
#include "base/parallel.h"
#include "base/seams.h"
#include "pipeline/layer_store.h"
#include "pipeline/node_stage.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::agent {

struct ServingOptions {
  NodeId head{};
  wire::pb::Profile profile;                          // What the node promises.
  std::function<void(const wire::pb::ToHead&)> tell;  // Reaches the head.
  std::function<void()> on_batch;                     // One has come, and is not yet computed.
  std::function<void(wire::Batch&)> spoil;            // As AgentOptions has it.
};

class Serving {
 public:
  // Everything outlives it.
  Serving(const Seams& seams, ServingOptions options, pipeline::LayerStore& store, News& news,
          Parallel& parallel);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // The epoch that it works for; 0: none.
  std::uint64_t epoch() const { return running_ ? running_->epoch : 0; }
  // When it last passed a batch on.
  Instant last_sent() const { return last_sent_; }
  void Fill(wire::pb::Telemetry& telemetry) const;
  // What its batches took lately; of no use after a rest.
  std::optional<double> Slowness() const { return step_times_.Slowness(); }
  void TellReceipts();

  // From the head. REQUIRES: `spec` is that of `assign`.
  void Assign(const wire::pb::Assign& assign, pipeline::StageSpec spec);
  // It will not hold what it was told to.
  void Refuse(std::uint64_t epoch, const std::string& problem);
  // If the assignment of `epoch` is ready, it holds from now on.
  void Begin(std::uint64_t epoch);
  void OnRowsGet(const wire::pb::RowsGet& get) { rows_.OnGet(get); }
  // Of this node's arithmetic; of whatever epoch, from whomever.
  void OnBatch(NodeId from, wire::Batch batch);
  // It cannot go on with what it holds: says so, and gives it up.
  void Fail(const std::string& why);
  // Layers stay on flash; keys and values are gone.
  void GiveUp();

  void OnPeerUp(NodeId peer);
  void OnPeerDown(NodeId peer, const Status& why);
  void OnPiece(NodeId from, const wire::Piece& piece) { fetcher_.OnPiece(from, piece); }

 private:
  void OnLoaded(std::uint64_t epoch, Result<Layers> layers);
  // Whether what the assignment computes can be passed on.
  bool CanPassOn(const Assignment& assignment) const;
  // Whether `assignment` is what this batch is meant for, and `from` may send it. Others could make
  // this node look as if it computed wrongly.
  bool Takes(const std::optional<Assignment>& assignment, NodeId from,
             const wire::Batch& batch) const;
  void DialNext();
  void MaybeReady();
  std::shared_ptr<StageWork> MakeWork(wire::Batch batch);
  void OnApplied(const std::shared_ptr<StageWork>& work);
  void PassOn(wire::Batch& batch);
  void SendState(std::uint64_t epoch, wire::pb::StageState::Progress progress,
                 const std::string& problem, LayerFetcher::Progress loaded);
  void SendTrouble(std::uint64_t epoch, wire::pb::StageTrouble::Kind kind, const std::string& text);

  const Seams seams_;
  const ServingOptions options_;
  News& news_;
  Parallel& parallel_;
  LayerFetcher fetcher_;
  std::set<NodeId> up_;  // Peers, the head among them.
  TimerId next_timer_{};

  std::optional<Assignment> pending_;  // Of an epoch that has not begun.
  std::optional<Assignment> running_;
  std::shared_ptr<pipeline::NodeStage> stage_;  // Touched by jobs only.
  KeptRows rows_;
  ReceiptBook receipts_;
  std::uint64_t next_step_ = 0;  // Of the epoch that runs: none before it comes any more.
  std::uint32_t jobs_waiting_ = 0;
  std::uint64_t batches_in_ = 0;
  std::uint64_t batches_done_ = 0;
  std::uint64_t batches_passed_ = 0;
  StepTimes step_times_;
  Instant last_done_;  // When a batch was done, whoever it was for.
  Instant last_sent_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::agent
