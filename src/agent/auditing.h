// Auditing: a node computes again what another one has computed, for the head and beside its own
// work. One audit at a time: a new one replaces the last.
//
// Belongs to one event loop. Its owner passes on what the network says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/layer_fetcher.h"
#include "agent/news.h"
#include "base/parallel.h"
#include "base/seams.h"
#include "pipeline/layer_store.h"
#include "pipeline/node_stage.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::agent {

class Auditing {
 public:
  using Tell = std::function<void(const wire::pb::ToHead&)>;
  // Everything outlives it. `tell` reaches the head.
  Auditing(const Seams& seams, NodeId head, pipeline::LayerStore& store, News& news,
           Parallel& parallel, Tell tell);

  // Gets the layers, and says when it has them, as for any other assignment. REQUIRES: `spec` is
  // that of `assign`.
  void Begin(const wire::pb::Assign& assign, pipeline::StageSpec spec);
  void Forget(std::uint64_t audit);
  // It cannot go on: says so, and gives it up.
  void Fail(const std::string& why);
  bool Has(std::uint64_t audit) const { return audit_ != 0 && audit_ == audit; }
  // REQUIRES: Has(batch.epoch).
  void OnBatch(wire::Batch batch);

  void OnPeerUp(NodeId peer) { fetcher_.OnPeerUp(peer); }
  void OnPeerDown(NodeId peer);
  void OnPiece(NodeId from, const wire::Piece& piece) { fetcher_.OnPiece(from, piece); }

 private:
  void OnLoaded(std::uint64_t audit, Result<Layers> layers);
  void TellState(wire::pb::StageState::Progress progress, const std::string& problem);

  const Seams seams_;
  const NodeId head_;
  Parallel& parallel_;
  const Tell tell_;
  LayerFetcher fetcher_;
  std::uint64_t audit_ = 0;  // 0: none.
  pipeline::StageSpec spec_;
  double weight_bytes_ = 0;
  std::shared_ptr<pipeline::NodeStage> stage_;  // Touched by jobs only, once it is assigned.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::agent
