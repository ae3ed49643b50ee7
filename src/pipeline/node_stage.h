// NodeStage: the layers that a node holds, with keys and values of every sequence that passes
// through. When its range of layers changes, at either end, what it held and still holds stays as
// it is, with its keys and values; only new layers begin empty.
//
// Computes; belongs to one thread at a time, that of an Executor's jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/kv_cache.h"
#include "llm/layer.h"
#include "llm/model_config.h"
#include "llm/stage.h"
#include "wire/batch.h"

namespace shoal::pipeline {

// Layers [first, end).
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - first; }
  bool Contains(const LayerRange& other) const { return first <= other.first && other.end <= end; }
  // What both have; of size 0 or below if that is nothing.
  LayerRange Common(const LayerRange& other) const {
    return {std::max(first, other.first), std::min(end, other.end)};
  }
  bool operator==(const LayerRange&) const = default;
};

struct StageSpec {
  std::string model;  // Names the model; ranges of another one are not kept.
  llm::ModelConfig config;
  kernels::KvType kv = kernels::KvType::kF16;
  std::size_t positions = 0;  // Of which keys and values are kept, in whole pages.
  LayerRange range;
};

class NodeStage {
 public:
  // From now on holds `spec.range`; `layers` are those of it, in order. kInvalidArgument: they
  // cannot be run. kResourceExhausted: no memory to cut what is held. Nothing is known of what is
  // held then.
  Status Assign(const StageSpec& spec, std::vector<std::shared_ptr<const llm::Layer>> layers);

  // The parts of its range that hold keys and values from before the last Assign.
  std::vector<LayerRange> Kept() const;

  // Applies the layers to `batch.rows` and moves `batch.stage` on; after the last stage only the
  // rows that the head wants remain. kNotFound: a run begins after what is held of its sequence.
  // kResourceExhausted: no room for more positions. kInvalidArgument: rows of another width.
  // After a failure nothing is known about the sequences of the batch. `witness` is shown all rows
  // that were made, before those that nobody wants are dropped; may be empty.
  using Witness = std::function<void(wire::Batch&)>;
  Status Apply(wire::Batch& batch, Parallel& parallel, const Witness& witness = {});

  // Pages in use, for tests and telemetry.
  std::size_t pages_used() const;

 private:
  // Layers that came together, and their caches.
  struct Part {
    LayerRange range;
    bool kept = false;
    llm::Stage stage;
    std::unique_ptr<llm::KvCache> cache;
    std::map<std::uint64_t, llm::KvSequence> sequences;
  };

  // Leaves of `part` the layers in `range`, which are `layers`.
  Status Cut(Part& part, const LayerRange& range,
             std::vector<std::shared_ptr<const llm::Layer>> layers) const;
  Status Prepare(Part& part, const wire::Batch& batch, std::vector<llm::StageRow>& rows) const;

  StageSpec spec_;
  std::vector<Part> parts_;  // In the order of their layers.
};

}  // namespace shoal::pipeline
