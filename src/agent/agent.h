// Agent: a node of a cluster. Dials the head, for ever; says what it is and how it is doing; holds
// the layers that it is told to hold, applies them to batches and passes these on; or trains, if
// that is what the head is there for.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/auditing.h"
#include "agent/heat_guard.h"
#include "agent/layer_fetcher.h"
#include "agent/news.h"
#include "agent/probe.h"
#include "agent/receipt_book.h"
#include "agent/sensor_check.h"
#include "agent/step_times.h"
#include "base/parallel.h"
#include "base/seams.h"
#include "pipeline/layer_server.h"
#include "pipeline/layer_store.h"
#include "pipeline/node_stage.h"
#include "pipeline/plan_costs.h"
#include "pipeline/row_log.h"
#include "train/cluster/worker.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::agent {

struct AgentOptions {
  NodeId head{};
  std::string head_address;
  wire::pb::NodeHello hello;  // What it says of itself; `cached` is filled in.
  // Serials of certificates that are void from now on. May be empty.
  std::function<void(std::set<std::uint64_t>)> on_revoked;
  // Lines for whoever looks at the device. May be empty.
  std::function<void(const std::string&)> news;
  // How much of the time it may compute, 1 at first: the head says so. May be empty.
  std::function<void(double)> set_duty;
  // What it trains with; null: it only serves.
  train::WorkerHost* trains = nullptr;
  // For trials: what a broken phone does to the rows that it makes, before anybody sees them. Runs
  // where jobs run. May be empty.
  std::function<void(wire::Batch&)> spoil;
};

// A phone that stays silent for a second while an answer is being made is taken for dead, so a
// busy one speaks four times as often.
inline constexpr Duration kTelemetryInterval = std::chrono::milliseconds(500);
inline constexpr Duration kBusyTelemetryInterval = std::chrono::milliseconds(250);
// Radios sleep after some 100 ms without traffic and take as long to wake up.
inline constexpr Duration kAwakeInterval = std::chrono::milliseconds(50);
inline constexpr Duration kAwakeAfterBatch = std::chrono::seconds(1);
inline constexpr Duration kPingInterval = std::chrono::seconds(2);
inline constexpr Duration kDialFirst = std::chrono::milliseconds(100);
inline constexpr Duration kDialMax = std::chrono::seconds(3);

class Agent final : public NetworkEvents {
 public:
  // Everything outlives it. Attaches itself to the network and begins to dial.
  Agent(const Seams& seams, AgentOptions options, pipeline::LayerStore& store, Probe& probe,
        Parallel& parallel);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

  // The epoch that it works for; 0: none.
  std::uint64_t epoch() const { return running_ ? running_->epoch : 0; }
  bool has_head() const { return up_.contains(options_.head); }

 private:
  struct Assignment {
    std::uint64_t epoch = 0;
    std::uint32_t stage = 0;
    std::uint32_t stages = 0;
    pipeline::StageSpec spec;
    std::vector<pipeline::LayerCost> costs;  // Of its layers.
    NodeId next{};
    std::string next_address;
    bool relay = false;
    bool accounts = false;  // Receipts are sent, and rows kept for a while.
    bool ready = false;
    std::optional<Layers> layers;  // Until the stage has them.
  };
  class Work;

  // What a batch of so many rows takes if the node is as fast as its profile says.
  double PromisedSeconds(const Assignment& assignment, std::size_t rows) const;
  void Dial();
  void DialLater();
  void TellTelemetry();
  // Gives up what it computes if it is too hot for it.
  void MindHeat(const wire::pb::Telemetry& telemetry);
  void GiveUpStage();
  void StayAwake();
  void PingAll();
  void OnControl(NodeId from, const Frame& frame);
  void OnPieceFrame(NodeId from, const Frame& frame);
  void OnAssign(const wire::pb::Assign& assign);
  bool HasAll(const wire::pb::Assign& assign) const;
  void OnLoaded(std::uint64_t epoch, Result<Layers> layers);
  // Whether what the assignment computes can be passed on.
  bool CanPassOn(const Assignment& assignment) const;
  void DialNext();
  void MaybeReady();
  // If the assignment of `epoch` is ready, it holds from now on.
  void Begin(std::uint64_t epoch);
  void OnBatchFrame(NodeId from, const Frame& frame);
  void OnApplied(const std::shared_ptr<Work>& work);
  void TellReceipts();
  void OnRowsGet(const wire::pb::RowsGet& get);
  void SendState(std::uint64_t epoch, wire::pb::StageState::Progress progress,
                 const std::string& problem, LayerFetcher::Progress loaded);
  void SendFailed(std::uint64_t epoch, const std::string& problem);
  void SendTrouble(std::uint64_t epoch, wire::pb::StageTrouble::Kind kind, const std::string& text);
  void Tell(const wire::pb::ToHead& message);

  const Seams seams_;
  const AgentOptions options_;
  pipeline::LayerStore& store_;
  Probe& probe_;
  Parallel& parallel_;
  News news_;
  LayerFetcher fetcher_;
  pipeline::LayerServer server_;
  std::optional<train::Worker> worker_;

  std::set<NodeId> up_;  // Peers, the head among them.
  Duration back_off_ = kDialFirst;
  TimerId dial_timer_{};
  TimerId next_timer_{};
  TimerId telemetry_timer_{};
  TimerId awake_timer_{};
  TimerId ping_timer_{};
  Instant last_batch_{};
  Instant last_sent_{};
  bool busy_ = false;  // Batches come.

  std::optional<Assignment> pending_;  // Of an epoch that has not begun.
  std::optional<Assignment> running_;
  std::shared_ptr<pipeline::NodeStage> stage_;  // Touched by jobs only,
  std::shared_ptr<pipeline::RowLog> log_;       // and so is this.
  ReceiptBook receipts_;
  Auditing auditing_;
  std::uint32_t jobs_waiting_ = 0;
  std::uint64_t batches_in_ = 0;
  std::uint64_t batches_done_ = 0;
  std::uint64_t batches_passed_ = 0;
  StepTimes step_times_;
  SensorCheck sensor_check_;
  HeatGuard heat_guard_;
  Instant last_done_;                       // When a batch was done, whoever it was for.
  std::map<NodeId, Duration> round_trips_;  // The last ones.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::agent
