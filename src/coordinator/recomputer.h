// Recomputer: computes a range of layers on given rows, once more, here on the head or on a node
// that has these layers on its flash. What comes out are the hashes of the rows; whether they are
// right is not its business.
//
// Belongs to one event loop. One piece of work at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/seams.h"
#include "coordinator/formation.h"
#include "llm/model_config.h"
#include "pipeline/layer_store.h"
#include "pipeline/node_stage.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::coordinator {

class Recomputer {
 public:
  // After a failure nothing more comes.
  using Ready = std::function<void(const Status&)>;
  using Done = std::function<void(Result<std::vector<std::uint64_t>>)>;

  // Everything outlives it.
  Recomputer(const Seams& seams, const ModelPlan& model, pipeline::LayerStore& layers,
             Parallel& parallel);

  // Layers `range` are got ready by `where`, for so many positions; the head itself is one, too.
  // `number`: as good as an epoch.
  void Begin(std::uint64_t number, NodeId where, const pipeline::LayerRange& range,
             std::size_t positions, Ready ready);
  // The rows that follow, from position `begin` on. REQUIRES: ready, and not computing.
  void Compute(std::size_t begin, std::vector<std::uint16_t> rows, Done done);
  // Nothing more comes.
  void End();

  std::uint64_t number() const { return number_; }
  NodeId where() const { return where_; }

  // Of the network. Those of other numbers are ignored.
  void OnState(NodeId from, const wire::pb::StageState& state);
  void OnBatch(NodeId from, const wire::Batch& batch);
  void OnLost(NodeId node);

 private:
  void OpenNext();
  void Fail(const Status& why);
  wire::Batch MakeBatch(std::size_t begin, std::vector<std::uint16_t> rows) const;
  void ComputeHere(wire::Batch batch);
  bool IsHere() const { return where_ == seams_.network.self(); }

  const Seams seams_;
  const ModelPlan& model_;
  pipeline::LayerStore& layers_;
  Parallel& parallel_;
  Result<llm::ModelConfig> config_;

  std::uint64_t number_ = 0;  // 0: nothing is under way.
  NodeId where_{};
  pipeline::LayerRange range_;
  pipeline::StageSpec spec_;
  Ready ready_;
  Done done_;
  std::size_t rows_ = 0;  // That are being computed.
  std::uint64_t step_ = 0;
  std::vector<std::shared_ptr<const llm::Layer>> opened_;
  std::shared_ptr<pipeline::NodeStage> stage_;  // Touched by jobs only, once it is assigned.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::coordinator
