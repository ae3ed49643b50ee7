// Replica: one pipeline as the head sees it: a row of nodes that hold all layers, and the answers
// that run on it. Keeps every stage busy: prompts go in chunks, answers in micro-batches, as many
// of them in flight as there are stages and one more. When the pipeline breaks, the answers wait
// and go on with the next route, with exactly the tokens that they would have had.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "llm/sampler.h"
#include "pipeline/head_model.h"
#include "pipeline/live_sequence.h"
#include "pipeline/node_stage.h"
#include "wire/batch.h"

namespace shoal::pipeline {

struct RouteStage {
  NodeId node{};
  LayerRange range;
  bool operator==(const RouteStage&) const = default;
};

// Who holds what, for one epoch.
struct Route {
  std::uint64_t epoch = 0;
  std::vector<RouteStage> stages;
};

// Rows of one sequence in a batch.
struct SequenceRows {
  std::uint64_t sequence = 0;
  std::size_t rows = 0;
};

// For those who keep accounts of who works for whom.
class FlightWatcher {
 public:
  virtual ~FlightWatcher() = default;
  // Rows begin their way through these stages; and have come back, or never will. Each OnBack is
  // for one OnSent.
  virtual void OnSent(std::span<const RouteStage> stages, std::span<const SequenceRows> rows) = 0;
  virtual void OnBack(std::span<const RouteStage> stages, std::span<const SequenceRows> rows) = 0;
};

class ReplicaEvents {
 public:
  virtual ~ReplicaEvents() = default;
  // The next token of a sequence.
  virtual void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) = 0;
  // The sequence is over: the model gave logits that are no numbers.
  virtual void OnDamaged(std::uint64_t sequence) = 0;
  // The pipeline does not work any more; it has been stopped.
  virtual void OnBroken(const Status& why) = 0;
};

// Somebody who keeps account of what passes.
class BatchObserver {
 public:
  virtual ~BatchObserver() = default;
  // A batch leaves for the first stage: its tokens, and the hash of each row (wire/row_hash.h).
  virtual void OnSent(const Route& route, const wire::Batch& batch,
                      const std::vector<std::int32_t>& tokens,
                      std::vector<std::uint64_t> hashes) = 0;
  // It came back from the last one.
  virtual void OnReturned(const wire::Batch& batch) = 0;
};

struct ReplicaOptions {
  // Rows of prompts in a batch. Products are as fast with 16 as with 64 (TinyLlama, one thread: 50
  // and 53 rows/s), and the second stage begins four times sooner: a prompt of 64 tokens took 0.70
  // instead of 0.95 s in two stages, one of 512 4.5 instead of 5.0 s.
  std::size_t chunk = 16;
  std::size_t guesses = 0;      // Tokens guessed in a window; 0: none.
  std::size_t windows = 2;      // Of one sequence in flight.
  std::size_t guess_below = 4;  // Guesses are tried when so many sequences run, or fewer.
  BatchObserver* observer = nullptr;
};

class Replica {
 public:
  // `seams` and `events` outlive it.
  Replica(const Seams& seams, std::shared_ptr<HeadModel> model, const ReplicaOptions& options,
          ReplicaEvents& events);
  // `watcher` outlives it, or is null.
  void SetWatcher(FlightWatcher* watcher) { watcher_ = watcher; }

  // A sequence to go on with, from `history`. REQUIRES: `sequence` is a new number.
  void Add(std::uint64_t sequence, std::vector<std::int32_t> history,
           std::shared_ptr<llm::Sampler> sampler);
  // Its answer is complete, or nobody wants it. Unknown ones are ignored.
  void Remove(std::uint64_t sequence);
  std::size_t size() const { return sequences_.size(); }

  // Begins a new epoch. `cold`: the last stage that does not hold what it held in the last epoch
  // that ran, counted from 1; 0: all do.
  void Start(Route route, std::size_t cold);
  // The epoch is over. Sequences stay.
  void Stop();
  bool running() const { return running_; }
  const Route& route() const { return route_; }

  // A batch came back. Ignored are those of other epochs, and of nodes that do not return any: all
  // of it is what a node says.
  void OnBatch(NodeId from, wire::Batch batch);

  // When the oldest batch that has not come back was sent; Never: none is in flight.
  Instant WaitingSince() const;
  // When a batch came back for the last time, or after a rest, the first one was sent.
  Instant last_moved() const { return last_moved_; }
  std::uint64_t batches_sent() const { return step_; }
  // The longest time that one of the last batches took; nothing: too few have come back in this
  // epoch.
  std::optional<Duration> SlowestLately() const;
  // What a batch took lately; nothing: as above.
  std::optional<Duration> UsualLately() const;

 private:
  struct Running {
    LiveSequence live;
    std::shared_ptr<llm::Sampler> sampler;
  };
  struct FlightRun {
    std::uint64_t sequence;
    Window window;
  };
  struct Flight {
    std::uint64_t step = 0;
    bool replay = false;
    bool left = false;  // It is on its way; before that, nobody can return it.
    Instant sent;
    std::vector<FlightRun> runs;
    std::vector<std::uint64_t> over;
    std::vector<SequenceRows> rows;  // As the watcher was told.
  };

  void Pump();
  std::size_t RowsMax() const;
  Flight BuildReplay();
  Flight BuildFeed();
  void Dispatch(Flight flight);
  struct Embedded;
  void SendRows(std::uint64_t epoch, std::uint64_t step, Embedded embedded);
  // Whether `batch` is what the last stage makes of it.
  bool IsAnswerTo(const Flight& flight, const wire::Batch& batch) const;
  void TakeNext();
  void Apply(const Flight& flight, const std::vector<std::vector<llm::SampledToken>>& drawn);
  void TellSent(Flight& flight);
  void TellBack(const Flight& flight);
  std::span<const RouteStage> StagesOf(const Flight& flight) const;
  void Break(const Status& why);
  std::size_t FlightsMax() const { return route_.stages.size() + 1; }

  const Seams seams_;
  const std::shared_ptr<HeadModel> model_;
  const ReplicaOptions options_;
  ReplicaEvents& events_;
  FlightWatcher* watcher_ = nullptr;

  std::map<std::uint64_t, Running> sequences_;
  std::uint64_t served_last_ = 0;  // Sequences take turns.
  std::vector<std::uint64_t> over_;
  bool running_ = false;
  Route route_;
  std::size_t cold_ = 0;
  std::uint64_t step_ = 0;
  std::deque<Flight> flights_;        // In the order in which they were sent.
  std::deque<wire::Batch> returned_;  // Not looked at yet.
  std::deque<Duration> durations_;    // Of the last batches of this epoch.
  Instant last_moved_;
  bool drawing_ = false;
  bool applying_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // For jobs that come back later.
};

}  // namespace shoal::pipeline
