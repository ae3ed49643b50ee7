// Formation: brings one pipeline up and keeps it up. Chooses who holds what, waits until all of
// them do, starts the replica; and when somebody is lost or gets nowhere, does so again with those
// who remain, in a new epoch.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
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
  // What the pipeline is to be good for. There is one replica for now; other nodes are spares.
  pipeline::PlanWish wish = {.replicas_max = 1};

  pipeline::PlanModel Costs() const;
};

class FormationEvents {
 public:
  virtual ~FormationEvents() = default;
  // Why answers wait; empty: they do not.
  virtual void OnFormationState(const std::string& why_waiting) = 0;
  // `node` must go: it does not answer, or not in time.
  virtual void OnUnfit(NodeId node, const Status& why) = 0;
  // For those who read along: one line.
  virtual void OnNews(const std::string& line) = 0;
};

class Formation {
 public:
  // Everything outlives it. `epoch_base`: epochs are numbers above it.
  Formation(const Seams& seams, Roster& roster, const ModelPlan& model, pipeline::Replica& replica,
            pipeline::LayerServer& server, std::uint64_t epoch_base, FormationEvents& events);
  ~Formation();
  Formation(const Formation&) = delete;
  Formation& operator=(const Formation&) = delete;

  // Somebody came or is gone, heard of at `heard` for the last time; its link is up or not.
  void OnArrived();
  void OnLost(NodeId node, Instant heard, const Status& why);
  // It is to go, and works until others have its layers.
  void OnDraining(NodeId node);
  void OnState(NodeId node, const wire::pb::StageState& state);
  void OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble);
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

 private:
  // What a new route starts from.
  enum class Start : std::uint8_t {
    kAsItIs,  // What there is, repaired.
    kAnew,
  };
  void Form(Start start, const std::string& why);
  void Break(const std::string& why);
  void NotePause(Instant alive);
  void TellRoute(const std::string& why);
  void SendAssign(std::size_t stage);
  void NoteLayers(NodeId node);
  void NameSources(NodeId node, wire::pb::Assign& assign);
  void Tell(NodeId node, const wire::pb::ToNode& message);
  void Begin();
  void ImproveSoon();
  void ImproveIn(Duration delay);
  void Improve();
  void BlameForStall();
  Duration StallLimit() const;

  const Seams seams_;
  Roster& roster_;
  const ModelPlan& model_;
  pipeline::Replica& replica_;
  pipeline::LayerServer& server_;
  FormationEvents& events_;

  std::string why_waiting_ = "no node has joined yet";
  std::uint64_t epoch_;
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
