// Assignment: which layers of a model a node is told to hold, where what they make of a batch goes,
// and what that costs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/layer_fetcher.h"
#include "base/executor.h"
#include "base/node_id.h"
#include "base/status.h"
#include "pipeline/node_stage.h"
#include "pipeline/plan_costs.h"
#include "wire/control.h"

namespace shoal::agent {

struct Assignment {
  std::uint64_t epoch = 0;
  std::uint32_t stage = 0;
  std::uint32_t stages = 0;
  pipeline::StageSpec spec;
  std::vector<pipeline::LayerCost> costs;  // Of its layers.
  NodeId previous{};                       // Who sends it batches, besides the head.
  NodeId next{};
  std::string next_address;
  bool relay = false;
  bool accounts = false;  // Receipts are sent, and rows kept for a while.
  bool ready = false;
  std::optional<Layers> layers;  // Until the stage has them.

  // What a batch of so many rows costs, for a model of devices.
  Work Price(std::size_t rows) const;
  // What it takes if the node is as fast as its profile says; 0: that does not say.
  double PromisedSeconds(const wire::pb::Profile& profile, std::size_t rows) const;
};

// kInvalidArgument: the message makes no sense.
Result<pipeline::StageSpec> ReadStageSpec(const wire::pb::Assign& assign);
// REQUIRES: `spec` is that of `assign`.
Assignment ReadAssignment(const wire::pb::Assign& assign, pipeline::StageSpec spec);

}  // namespace shoal::agent
