// Agent: a node of a cluster. Dials the head, for ever; says what it is and how it is doing; holds
// the layers that it is told to hold and applies them to batches (serving.h), computes again what
// others have computed (auditing.h), or trains, if that is what the head is there for
// (train/cluster/worker.h). Who of these a frame is for is known here, and when the node is too hot
// for any of it.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "agent/auditing.h"
#include "agent/news.h"
#include "agent/probe.h"
#include "agent/round_trips.h"
#include "agent/sensor_check.h"
#include "agent/serving.h"
#include "base/heat_guard.h"
#include "base/parallel.h"
#include "base/seams.h"
#include "pipeline/layer_server.h"
#include "pipeline/layer_store.h"
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
  std::uint64_t epoch() const { return serving_.epoch(); }
  bool has_head() const { return up_.contains(options_.head); }

 private:
  void Dial();
  void DialLater();
  void TellTelemetry();
  // Gives up what it computes if it is too hot for it.
  void MindHeat(const wire::pb::Telemetry& telemetry);
  void StayAwake();
  void PingAll();
  void OnControl(NodeId from, const Frame& frame);
  void OnPieceFrame(NodeId from, const Frame& frame);
  void OnAssign(const wire::pb::Assign& assign);
  bool HasAll(const wire::pb::Assign& assign) const;
  void OnBatchFrame(NodeId from, const Frame& frame);
  // A batch has come for the layers that it holds.
  void BeBusy();
  void Tell(const wire::pb::ToHead& message);

  const Seams seams_;
  const AgentOptions options_;
  pipeline::LayerStore& store_;
  Probe& probe_;
  News news_;
  pipeline::LayerServer server_;
  Serving serving_;
  Auditing auditing_;
  std::optional<train::Worker> worker_;

  std::set<NodeId> up_;  // Peers, the head among them.
  Duration back_off_ = kDialFirst;
  TimerId dial_timer_{};
  TimerId telemetry_timer_{};
  TimerId awake_timer_{};
  TimerId ping_timer_{};
  Instant last_batch_{};
  Instant last_sent_{};
  bool busy_ = false;  // Batches come.
  SensorCheck sensor_check_;
  HeatGuard heat_guard_;
  RoundTrips round_trips_;
};

}  // namespace shoal::agent
