// StageWork: a batch on its way through the executor: its layers are applied to it where jobs run.
// Not thread-safe: the event loop fills it, the job runs it, and the loop has it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/layer_fetcher.h"
#include "base/parallel.h"
#include "base/status.h"
#include "base/time.h"
#include "pipeline/node_stage.h"
#include "pipeline/row_log.h"
#include "wire/batch.h"

namespace shoal::agent {

struct StageWork {
  std::shared_ptr<pipeline::NodeStage> stage;
  // The first batch of an epoch brings its layers along.
  std::optional<std::pair<pipeline::StageSpec, Layers>> assign;
  wire::Batch batch;
  std::size_t rows = 0;
  double promised = 0;  // Seconds.
  Instant submitted;
  Status status;
  // Where rows are kept, if they are to be accounted for; after so many layers.
  std::shared_ptr<pipeline::RowLog> log;
  std::int64_t boundary = 0;
  std::uint64_t plan = 0;            // Of the batch as it came, if it is to be accounted for, …
  std::vector<std::uint64_t> given;  // Hashes of its rows, …
  std::vector<std::uint64_t> made;   // … and of what was made of them.
  // What a broken phone does to the rows. May be empty.
  std::function<void(wire::Batch&)> spoil;

  // [job]
  void Run(Parallel& parallel);

 private:
  void Note(wire::Batch& all);
};

}  // namespace shoal::agent
