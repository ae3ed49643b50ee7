// Line: one pipeline of several: its nodes, its answers, and the room that they have in every
// stage.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/seams.h"
#include "coordinator/formation.h"
#include "coordinator/rate_meter.h"
#include "coordinator/roster.h"
#include "coordinator/routing.h"
#include "pipeline/head_model.h"
#include "pipeline/layer_server.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

class Line;

class LineEvents {
 public:
  virtual ~LineEvents() = default;
  // As in pipeline::ReplicaEvents.
  virtual void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) = 0;
  virtual void OnDamaged(std::uint64_t sequence) = 0;
  // As in FormationEvents. It began to run, or waits.
  virtual void OnLineState() = 0;
  virtual void OnUnfit(NodeId node, const Status& why) = 0;
  virtual void OnNews(const std::string& line) = 0;
  virtual void OnMoves(const std::vector<NodeId>& nodes) = 0;
  virtual Means MeansOf(const Line& line) const = 0;
  virtual std::uint64_t NextEpoch() = 0;
};

// What all lines share. Everything outlives them.
struct LineWorld {
  Seams seams;
  Roster& roster;
  const ModelPlan& model;
  std::shared_ptr<pipeline::HeadModel> head;
  pipeline::ReplicaOptions replica;
  pipeline::LayerServer& server;
  pipeline::FlightWatcher* flights = nullptr;  // Null: nobody keeps accounts.
};

class Line final : private pipeline::ReplicaEvents, private FormationEvents {
 public:
  // `number`: what operators call it.
  Line(std::size_t number, const LineWorld& world, LineEvents& events);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  std::size_t number() const { return number_; }
  const pipeline::Replica& replica() const { return replica_; }
  pipeline::Replica& replica() { return replica_; }
  const Formation& formation() const { return formation_; }
  Formation& formation() { return formation_; }
  bool running() const { return replica_.running(); }
  // Neither runs nor is about to.
  bool vacant() const { return !running() && !formation_.forming(); }
  // For how long none of the calls of this has seen it running.
  Duration StoppedFor(Instant now);

  // Whether an answer of so many positions can begin. One that has the line to itself always can.
  bool HasRoom(std::size_t positions) const;
  // As in pipeline::Replica; the positions are reserved until it is removed.
  void Add(std::uint64_t sequence, std::size_t positions, std::vector<std::int32_t> history,
           std::shared_ptr<llm::Sampler> sampler);
  void Remove(std::uint64_t sequence);
  // Removes all, and says which they were.
  std::vector<std::uint64_t> RemoveAll();
  LineLoad Load() const;
  // Of all its answers, lately.
  double TokensPerSecond() const { return tokens_.PerSecond(clock_.Now()); }

 private:
  void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) override;
  void OnDamaged(std::uint64_t sequence) override;
  void OnBroken(const Status& why) override;
  Means GetMeans() const override;
  std::uint64_t NextEpoch() override;
  void OnFormationState(const std::string& why_waiting) override;
  void OnUnfit(NodeId node, const Status& why) override;
  void OnNews(const std::string& line) override;
  void OnMoves(const std::vector<NodeId>& nodes) override;

  const std::size_t number_;
  const std::size_t positions_;  // That every stage has room for.
  LineEvents& events_;
  const Clock& clock_;
  pipeline::Replica replica_;
  Formation formation_;
  std::map<std::uint64_t, std::size_t> reserved_;  // Positions of each sequence.
  std::size_t positions_used_ = 0;
  Instant ran_;
  RateMeter tokens_;
};

}  // namespace shoal::coordinator
