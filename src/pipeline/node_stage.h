// NodeStage: the layers that a node holds, with keys and values of every sequence that passes
// through. When its range of layers changes, what it held and still holds stays as it is, with its
// keys and values; only new layers begin empty.
//
// Computes; belongs to one thread at a time, that of an Executor's jobs.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // cannot be run; nothing is held then.
  Status Assign(const StageSpec& spec, std::vector<std::shared_ptr<const llm::Layer>> layers);

  // The parts of its range that hold keys and values from before the last Assign.
  std::vector<LayerRange> Kept() const;

  // Applies the layers to `batch.rows` and moves `batch.stage` on; after the last stage only the
  // rows that the head wants remain. kNotFound: a run begins after what is held of its sequence.
  // kResourceExhausted: no room for more positions. kInvalidArgument: rows of another width.
  // After a failure nothing is known about the sequences of the batch.
  Status Apply(wire::Batch& batch, Parallel& parallel);

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

  Status Prepare(Part& part, const wire::Batch& batch, std::vector<llm::StageRow>& rows) const;

  StageSpec spec_;
  std::vector<Part> parts_;  // In the order of their layers.
};

// Multiply-adds of one row in one layer, attention not counted.
double LayerOperations(const llm::ModelConfig& config);

}  // namespace shoal::pipeline
