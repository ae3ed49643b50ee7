#include "pipeline/replica.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/revision.h"
#include "wire/row_hash.h"

namespace shoal::pipeline {
namespace {

// Enough that a prompt's chunks are among them while answers are made.
constexpr std::size_t kDurationsKept = 64;
constexpr std::size_t kDurationsEnough = 8;

}  // namespace

Replica::Replica(const Seams& seams, std::shared_ptr<HeadModel> model,
                 const ReplicaOptions& options, ReplicaEvents& events)
    : seams_(seams), model_(std::move(model)), options_(options), events_(events) {
  SHOAL_CHECK(options_.chunk > 0 && options_.chunk <= wire::kBatchRowsMax);
}

void Replica::Add(std::uint64_t sequence, std::vector<std::int32_t> history,
                  std::shared_ptr<llm::Sampler> sampler) {
  const bool added =
      sequences_.emplace(sequence, Running{LiveSequence(std::move(history)), std::move(sampler)})
          .second;
  SHOAL_CHECK(added);
  Pump();
}

void Replica::Remove(std::uint64_t sequence) {
  if (sequences_.erase(sequence) == 0) return;
  over_.push_back(sequence);
  Pump();
}

void Replica::Start(Route route, std::size_t cold) {
  Stop();
  route_ = std::move(route);
  cold_ = cold;
  step_ = 0;
  durations_.clear();
  running_ = true;
  using Kept = LiveSequence::Kept;
  const Kept kept = cold_ == 0                     ? Kept::kAll
                    : cold_ < route_.stages.size() ? Kept::kSome
                                                   : Kept::kNone;
  for (auto& [id, running] : sequences_) running.live.Restart(kept);
  Pump();
}

void Replica::Stop() {
  running_ = false;
  // Whether stages have heard that these are over is not known.
  for (const Flight& flight : flights_) {
    over_.insert(over_.end(), flight.over.begin(), flight.over.end());
    TellBack(flight);
  }
  flights_.clear();
  returned_.clear();
}

void Replica::OnBatch(NodeId from, wire::Batch batch) {
  if (!running_ || batch.epoch != route_.epoch || batch.last >= route_.stages.size() ||
      from != route_.stages[batch.last].node || batch.stage != batch.last + 1) {
    return;
  }
  if (returned_.size() >= flights_.size()) {
    return Break({Code::kCorruption, "more batches came back than were sent"});
  }
  const Flight& expected = flights_[returned_.size()];
  // From a stage in the middle, about a batch that nobody expects now: it has no say in that. About
  // the expected one it has: somebody before it has cut its way short.
  if (batch.last + 1 != StagesOf(expected).size() && batch.step != expected.step) return;
  if (!IsAnswerTo(expected, batch)) {
    return Break({Code::kCorruption, "a batch came back that was not sent, or in another order"});
  }
  last_moved_ = seams_.clock.Now();
  if (options_.observer != nullptr) options_.observer->OnReturned(batch);
  returned_.push_back(std::move(batch));
  TakeNext();
}

bool Replica::IsAnswerTo(const Flight& flight, const wire::Batch& batch) const {
  return flight.left && batch.step == flight.step && batch.dim == model_->dim() &&
         batch.last + 1 == StagesOf(flight).size() &&
         std::equal(batch.runs.begin(), batch.runs.end(), flight.runs.begin(), flight.runs.end(),
                    [](const wire::Run& run, const FlightRun& sent) {
                      return run.sequence == sent.sequence && run.begin == sent.window.begin &&
                             run.count == sent.window.tokens.size() &&
                             run.wanted == sent.window.wanted;
                    });
}

Instant Replica::WaitingSince() const {
  // Those that have come back and are not looked at yet are the head's own business.
  const std::size_t first = returned_.size();
  return first < flights_.size() ? flights_[first].sent : Instant::Never();
}

std::optional<Duration> Replica::SlowestLately() const {
  if (durations_.size() < kDurationsEnough) return std::nullopt;
  return *std::max_element(durations_.begin(), durations_.end());
}

// The median: chunks of prompts are among them, and say little about the next token.
std::optional<Duration> Replica::UsualLately() const {
  if (durations_.size() < kDurationsEnough) return std::nullopt;
  std::vector<Duration> sorted(durations_.begin(), durations_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void Replica::Pump() {
  while (running_ && !applying_ && flights_.size() < FlightsMax()) {
    Flight flight = BuildReplay();
    if (flight.runs.empty()) flight = BuildFeed();
    // News of what is over can wait for company, but not for ever.
    if (flight.runs.empty() && (over_.empty() || !flights_.empty())) return;
    // All stages must hear it, and a replay does not reach all.
    const std::size_t told = flight.replay ? 0 : std::min(over_.size(), wire::kBatchOverMax);
    flight.over.assign(over_.end() - static_cast<std::ptrdiff_t>(told), over_.end());
    over_.resize(over_.size() - told);
    Dispatch(std::move(flight));
  }
}

// As many as fit into a frame, and into what stages accept; half of it, as runs take room, too.
std::size_t Replica::RowsMax() const {
  return std::min(wire::kBatchRowsMax, kActivationsFrameBytesMax / 2 / (2 * model_->dim()));
}

// What new stages have not seen goes as far as the last of them.
Replica::Flight Replica::BuildReplay() {
  Flight flight;
  flight.replay = true;
  // Of all sequences together there are enough rows to fill the stages with larger batches, which
  // pay where hops take longer than stages.
  std::size_t rows = std::min(4 * options_.chunk, RowsMax());
  for (auto& [id, running] : sequences_) {
    if (rows == 0) break;
    if (!running.live.Replaying()) continue;
    flight.runs.push_back({id, running.live.Replay(rows)});
    rows -= flight.runs.back().window.tokens.size();
  }
  return flight;
}

// Answers first, each of those whose turn it is, and as many rows of prompts as a chunk has.
Replica::Flight Replica::BuildFeed() {
  Flight flight;
  std::size_t answering = 0;
  for (const auto& [id, running] : sequences_) answering += running.live.Prefilling() ? 0 : 1;
  const std::size_t share = (answering + FlightsMax() - 1) / FlightsMax();
  const std::size_t guesses = sequences_.size() <= options_.guess_below ? options_.guesses : 0;
  std::size_t answers = 0;
  std::size_t rows = options_.chunk;
  std::size_t room = RowsMax();
  const auto visit = [&](std::uint64_t id, LiveSequence& live) {
    if (room <= guesses) return;
    const std::size_t before = flight.runs.size();
    if (live.Prefilling()) {
      if (rows == 0) return;
      flight.runs.push_back({id, live.Feed(std::min(rows, room - guesses), guesses)});
      rows -= std::min(rows, flight.runs.back().window.tokens.size());
    } else if (live.Ready()) {
      if (answers == share) return;
      flight.runs.push_back({id, live.Feed(1, guesses)});
      ++answers;
      served_last_ = id;
    } else if (guesses > 0 && live.windows() < options_.windows) {
      if (std::optional<Window> window = live.FeedAhead(guesses)) {
        flight.runs.push_back({id, *std::move(window)});
      }
    }
    if (flight.runs.size() > before) room -= flight.runs.back().window.tokens.size();
  };
  const auto first = sequences_.upper_bound(served_last_);
  for (auto at = first; at != sequences_.end(); ++at) visit(at->first, at->second.live);
  for (auto at = sequences_.begin(); at != first; ++at) visit(at->first, at->second.live);
  return flight;
}

// What a batch begins with.
struct Replica::Embedded {
  std::shared_ptr<HeadModel> model;
  std::vector<std::int32_t> tokens;
  std::vector<std::uint16_t> rows;
  std::vector<std::uint64_t> hashes;  // If somebody wants them.
};

void Replica::Dispatch(Flight flight) {
  flight.step = step_++;
  flight.sent = seams_.clock.Now();
  if (flights_.empty()) last_moved_ = flight.sent;
  std::vector<std::int32_t> tokens;
  for (const FlightRun& run : flight.runs) {
    tokens.insert(tokens.end(), run.window.tokens.begin(), run.window.tokens.end());
  }
  const auto work = std::make_shared<Embedded>(Embedded{model_, std::move(tokens), {}, {}});
  const double bytes = static_cast<double>(work->tokens.size() * model_->dim()) * 2;
  const Status submitted =
      seams_.executor.Submit({.tag = {.step = flight.step, .epoch = route_.epoch},
                              .work = {.operations = bytes, .bytes_moved = bytes},
                              .run =
                                  [work, hash = options_.observer != nullptr] {
                                    work->rows = work->model->Embed(work->tokens);
                                    if (hash) {
                                      work->hashes =
                                          wire::RowHashes(work->rows, work->model->dim());
                                    }
                                  },
                              .done =
                                  [this, work, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
                                    if (!alive.expired())
                                      SendRows(tag.epoch, tag.step, std::move(*work));
                                  }});
  TellSent(flight);
  flights_.push_back(std::move(flight));
  if (!submitted.ok()) Break(submitted);
}

void Replica::SendRows(std::uint64_t epoch, std::uint64_t step, Embedded embedded) {
  if (!running_ || epoch != route_.epoch) return;
  const auto flight = std::find_if(flights_.begin(), flights_.end(),
                                   [&](const Flight& f) { return f.step == step; });
  SHOAL_CHECK(flight != flights_.end());
  wire::Batch batch;
  batch.to = route_.stages.front().node;
  batch.epoch = epoch;
  batch.arithmetic = kernels::kKernelRevision;
  batch.step = step;
  batch.stage = 0;
  batch.last = static_cast<std::uint32_t>(StagesOf(*flight).size() - 1);
  batch.dim = static_cast<std::uint32_t>(model_->dim());
  for (const FlightRun& run : flight->runs) {
    batch.runs.push_back({.sequence = run.sequence,
                          .begin = static_cast<std::uint32_t>(run.window.begin),
                          .count = static_cast<std::uint32_t>(run.window.tokens.size()),
                          .wanted = static_cast<std::uint32_t>(run.window.wanted)});
  }
  batch.over = flight->over;
  batch.rows = std::move(embedded.rows);
  if (options_.observer != nullptr) {
    options_.observer->OnSent(route_, batch, embedded.tokens, std::move(embedded.hashes));
  }
  flight->left = true;
  flight->sent = seams_.clock.Now();
  const Status sent =
      seams_.network.Send(batch.to, Traffic::kActivations, wire::EncodeBatch(batch));
  if (!sent.ok()) Break(sent);
}

std::span<const RouteStage> Replica::StagesOf(const Flight& flight) const {
  return std::span(route_.stages).first(flight.replay ? cold_ : route_.stages.size());
}

void Replica::TellSent(Flight& flight) {
  if (watcher_ == nullptr) return;
  for (const FlightRun& run : flight.runs) {
    flight.rows.push_back({run.sequence, run.window.tokens.size()});
  }
  watcher_->OnSent(StagesOf(flight), flight.rows);
}

void Replica::TellBack(const Flight& flight) {
  if (watcher_ != nullptr) watcher_->OnBack(StagesOf(flight), flight.rows);
}

// One at a time: what is drawn after a window depends on the one before it.
void Replica::TakeNext() {
  if (drawing_ || returned_.empty() || !running_) return;
  wire::Batch batch = std::move(returned_.front());
  returned_.pop_front();
  Flight flight = std::move(flights_.front());
  flights_.pop_front();
  TellBack(flight);
  durations_.push_back(seams_.clock.Now() - flight.sent);
  if (durations_.size() > kDurationsKept) durations_.pop_front();

  struct Drawing {
    std::shared_ptr<HeadModel> model;
    std::vector<std::uint16_t> rows;
    std::vector<DrawTask> tasks;
    std::vector<std::vector<llm::SampledToken>> drawn;
    Flight flight;
  };
  const auto work = std::make_shared<Drawing>();
  std::size_t at = 0;
  std::vector<FlightRun> counting;
  for (std::size_t r = 0; r < flight.runs.size(); ++r) {
    FlightRun& run = flight.runs[r];
    const std::size_t size = run.window.wanted * model_->dim();
    const std::size_t begin = at;
    at += size;
    if (at > batch.rows.size()) {
      return Break({Code::kCorruption, "a batch came back with other rows than were wanted"});
    }
    const auto found = sequences_.find(run.sequence);
    if (found == sequences_.end() || !found->second.live.Counts(run.window)) continue;
    if (run.window.wanted > 0) {
      work->rows.insert(work->rows.end(), batch.rows.begin() + static_cast<std::ptrdiff_t>(begin),
                        batch.rows.begin() + static_cast<std::ptrdiff_t>(at));
      work->tasks.push_back(
          {.sampler = found->second.sampler,
           .history = found->second.live.history(),
           .tokens = {run.window.tokens.end() - static_cast<std::ptrdiff_t>(run.window.wanted - 1),
                      run.window.tokens.end()}});
    }
    counting.push_back(std::move(run));
  }
  flight.runs = std::move(counting);
  if (flight.replay) {
    Pump();
    return TakeNext();
  }
  if (work->tasks.empty()) {
    Apply(flight, {});
    Pump();
    return TakeNext();
  }
  work->model = model_;
  work->flight = std::move(flight);
  drawing_ = true;
  const double operations =
      2.0 * static_cast<double>(work->rows.size()) * static_cast<double>(model_->vocab());
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = work->flight.step, .epoch = route_.epoch},
       .work = {.operations = operations,
                .bytes_moved = static_cast<double>(model_->vocab() * model_->dim())},
       .run = [work] { work->drawn = work->model->Draw(work->rows, work->tasks); },
       .done =
           [this, work, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired()) return;
             drawing_ = false;
             if (running_ && tag.epoch == route_.epoch) {
               Apply(work->flight, work->drawn);
               Pump();
             }
             TakeNext();
           }});
  if (!submitted.ok()) {
    drawing_ = false;
    Break(submitted);
  }
}

void Replica::Apply(const Flight& flight,
                    const std::vector<std::vector<llm::SampledToken>>& drawn) {
  // Events end sequences and bring new ones; the next batch is made of all of them.
  applying_ = true;
  std::size_t task = 0;
  for (const FlightRun& run : flight.runs) {
    const auto found = sequences_.find(run.sequence);
    const std::vector<llm::SampledToken>* tokens = run.window.wanted > 0 ? &drawn[task++] : nullptr;
    // It may have been removed while its tokens were drawn.
    if (found == sequences_.end() || !found->second.live.Counts(run.window)) continue;
    if (tokens == nullptr) {
      found->second.live.Returned(run.window, {});
    } else if (tokens->empty()) {
      events_.OnDamaged(run.sequence);
    } else {
      found->second.live.Returned(run.window, *tokens);
      // Events may remove it: tokens after its end are not told.
      for (const llm::SampledToken& token : *tokens) {
        if (sequences_.contains(run.sequence)) events_.OnDrawn(run.sequence, token);
      }
    }
  }
  applying_ = false;
}

void Replica::Break(const Status& why) {
  Stop();
  events_.OnBroken(why);
}

}  // namespace shoal::pipeline
