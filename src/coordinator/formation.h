// Formation: brings one pipeline up and keeps it up. Chooses who holds what, waits until all of
// them do, starts the replica; and when somebody is lost or gets nowhere, does so again with those
// who remain, in a new epoch.
//
// Belongs to one event loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
#include "coordinator/move_search.h"
#include "coordinator/pause_log.h"
#include "coordinator/roster.h"
#include "pipeline/layer_server.h"
#include "pipeline/planner.h"
#include "pipeline/replica.h"
#include "wire/control.h"

namespace shoal::coordinator {

// What is served.
struct ModelPlan {
  std::string id;      // Names it.
  std::string config;  // llm::SerializeConfig
  std::vector<wire::pb::LayerFile> layers;
  std::uint64_t kv_bytes_per_position = 0;  // In one layer.
  std::size_t positions = 0;                // Of all answers together.
  std::uint32_t kv = 0;                     // kernels::KvType
  std::size_t dim = 0;                      // Numbers in a row that is passed on.
  double multiply_adds = 0;                 // One row through one layer.
  double row_share = 1;                     // Of a layer's weights, what one row needs.
  pipeline::PlanWish wish;                  // What the pipelines are to be good for.
  std::size_t trusted_ends = 0;             // As in pipeline::PlanModel.
  bool receipts = false;                    // Stages account for their work: see auditor.h.

  pipeline::PlanModel Costs() const;
};

// What a pipeline may be made of, and how.
struct Means {
  pipeline::PlanCluster cluster;
  pipeline::PlanWish wish;
  // When somebody is gone.
  MovePrice price;
  LayerPrice layer_price;
};

// Nodes that come together are taken together, which saves most of them a move; a running pipeline
// is in no hurry.
inline constexpr Duration kGatherFor = std::chrono::milliseconds(200);
inline constexpr Duration kImproveAfter = std::chrono::seconds(2);

class FormationEvents {
 public:
  virtual ~FormationEvents() = default;
  // The nodes that no other pipeline has.
  virtual Means GetMeans() const = 0;
  // A number that no pipeline has had.
  virtual std::uint64_t NextEpoch() = 0;
  // Why answers wait; empty: they do not.
  virtual void OnFormationState(const std::string& why_waiting) = 0;
  // `node` must go: it does not answer, or not in time.
  virtual void OnUnfit(NodeId node, const Status& why) = 0;
  // For those who read along: one line.
  virtual void OnNews(const std::string& line) = 0;
  // These will have other layers than in the route that runs, or that ran last.
  virtual void OnMoves(const std::vector<NodeId>& nodes) = 0;
};

class Formation {
 public:
  // Everything outlives it.
  Formation(const Seams& seams, Roster& roster, const ModelPlan& model, pipeline::Replica& replica,
            pipeline::LayerServer& server, FormationEvents& events);
  ~Formation();
  Formation(const Formation&) = delete;
  Formation& operator=(const Formation&) = delete;

  // Prepares this route, and says why unless that is empty. REQUIRES: no other pipeline has its
  // nodes.
  void Prepare(std::vector<pipeline::RouteStage> stages, const std::string& why);
  // If nothing runs, forms whatever can be. If something does, only what has the number of stages
  // that was asked for, or is several pipelines and much faster: a new route costs every answer a
  // pause, and where layers of one pipeline should be is decided elsewhere (balance.h).
  void Improve();
  // It will not be formed again: its nodes are free.
  void Dismiss();

  // Its link is down; it was heard of at `heard` for the last time.
  void OnLost(NodeId node, Instant heard, const Status& why);
  // It is to go, and works until others have its layers.
  void OnDraining(NodeId node);
  // It must not work any more: as when it is drained, but if nobody can take its layers, or
  // `at_once`, answers wait. To be called again and again for as long as that is so.
  void OnResting(NodeId node, bool at_once);
  void OnState(NodeId node, const wire::pb::StageState& state);
  void OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble);
  // What `from` sends to `to` must pass the head from now on.
  void OnApart(NodeId from, NodeId to);
  // The replica drew a token.
  void OnDrawn();
  // The replica has stopped by itself.
  void OnBroken(const Status& why);
  // Looks at deadlines; to be called some ten times a second.
  void Tick();

  // Whether answers are being made, on replica's route.
  bool running() const { return replica_.running(); }
  // The route that is being prepared, if there is one; answers may run on another meanwhile.
  const std::optional<pipeline::Route>& forming() const { return forming_; }
  // Why no answer is being made; empty: they are.
  const std::string& why_waiting() const { return why_waiting_; }
  // Whether an answer that is being made depends on `node`.
  bool Needs(NodeId node) const;
  // Those that are in use, being prepared, or hold layers for its next route.
  std::set<NodeId> Nodes() const;
  bool Has(NodeId node) const;
  // What its route will give, as far as nodes had measured themselves and each other when it was
  // prepared, or when Predict was last called.
  const pipeline::Prediction& predicted() const { return predicted_; }
  void Predict();

 private:
  // What a new route starts from.
  enum class Start : std::uint8_t {
    kAsItIs,  // What there is, repaired.
    kAnew,
  };
  void Form(Start start, const std::string& why);
  void Break(const std::string& why);
  void Release(NodeId node);
  void NotePause(Instant alive);
  void SendAssign(std::size_t stage);
  void NoteLayers(NodeId node);
  void NameSources(NodeId node, wire::pb::Assign& assign);
  void Tell(NodeId node, const wire::pb::ToNode& message);
  void Begin();
  void ImproveIn(Duration delay);
  void BlameForStall();
  Duration StallLimit() const;

  const Seams seams_;
  Roster& roster_;
  const ModelPlan& model_;
  pipeline::Replica& replica_;
  pipeline::LayerServer& server_;
  FormationEvents& events_;

  std::string why_waiting_ = "no node has joined yet";
  pipeline::Prediction predicted_;
  std::optional<pipeline::Route> forming_;
  std::set<NodeId> ready_;
  std::map<NodeId, std::uint64_t> loaded_;       // Bytes, as far as those who form have said.
  Instant progress_at_;                          // While forming: when something last got further.
  std::map<NodeId, pipeline::LayerRange> warm_;  // Who holds what since the last epoch that ran.
  TimerId improve_timer_{};
  bool improve_set_ = false;
  Instant next_retry_;
  std::string retried_for_;  // Said already: nobody reads it every two seconds.
  PauseLog pauses_;
};

}  // namespace shoal::coordinator
