#include "agent/serving.h"

#include <algorithm>
#include <utility>

namespace shoal::agent {
namespace {

constexpr Duration kDialNextInterval = std::chrono::milliseconds(200);

}  // namespace

Serving::Serving(const Seams& seams, ServingOptions options, pipeline::LayerStore& store,
                 News& news, Parallel& parallel)
    : seams_(seams),
      options_(std::move(options)),
      news_(news),
      parallel_(parallel),
      fetcher_(seams.clock, seams.network, store, options_.head, news),
      stage_(std::make_shared<pipeline::NodeStage>()),
      rows_(seams, options_.head, options_.tell),
      last_done_(seams.clock.Now()) {}

Serving::~Serving() { seams_.clock.Cancel(next_timer_); }

void Serving::OnPeerUp(NodeId peer) {
  up_.insert(peer);
  fetcher_.OnPeerUp(peer);
  if (peer != options_.head) MaybeReady();
}

void Serving::OnPeerDown(NodeId peer, const Status& why) {
  up_.erase(peer);
  fetcher_.OnPeerDown(peer);
  // Whoever is head next begins a new epoch; layers stay where they are, on flash and mapped.
  if (peer == options_.head) return GiveUp();
  if (running_ && !running_->relay && running_->next == peer) {
    SendTrouble(running_->epoch, wire::pb::StageTrouble::NEXT_DOWN, why.ToString());
  }
  if (pending_ && !pending_->relay && pending_->next == peer) {
    SendTrouble(pending_->epoch, wire::pb::StageTrouble::NEXT_DOWN, why.ToString());
    seams_.clock.Cancel(next_timer_);
    next_timer_ = seams_.clock.CallAfter(kDialNextInterval, [this] { DialNext(); });
  }
}

// --- Until it is ready.

void Serving::Assign(const wire::pb::Assign& assign, pipeline::StageSpec spec) {
  pending_ = ReadAssignment(assign, std::move(spec));
  DialNext();
  fetcher_.Load(
      assign, pending_->spec.config,
      [this, epoch = assign.epoch()](LayerFetcher::Progress loaded) {
        if (pending_ && pending_->epoch == epoch) {
          SendState(epoch, wire::pb::StageState::LOADING, "", loaded);
        }
      },
      [this, epoch = assign.epoch()](Result<Layers> layers) {
        OnLoaded(epoch, std::move(layers));
      });
}

void Serving::Refuse(std::uint64_t epoch, const std::string& problem) {
  news_.Say("cannot hold the layers that the head wants here: " + problem);
  SendState(epoch, wire::pb::StageState::FAILED, problem, {});
}

void Serving::OnLoaded(std::uint64_t epoch, Result<Layers> layers) {
  if (!pending_ || pending_->epoch != epoch) return;
  if (!layers.ok()) {
    pending_.reset();
    return Refuse(epoch, std::string(layers.status().message()));
  }
  pending_->layers = *std::move(layers);
  MaybeReady();
}

bool Serving::CanPassOn(const Assignment& assignment) const {
  return up_.contains(assignment.relay ? options_.head : assignment.next);
}

void Serving::DialNext() {
  if (pending_ && !CanPassOn(*pending_)) {
    seams_.network.Connect(pending_->next, pending_->next_address);
  }
}

void Serving::MaybeReady() {
  if (!pending_ || pending_->ready || !pending_->layers || !CanPassOn(*pending_)) return;
  pending_->ready = true;
  SendState(pending_->epoch, wire::pb::StageState::READY, "", {});
}

void Serving::Begin(std::uint64_t epoch) {
  if (!pending_ || !pending_->ready || pending_->epoch != epoch) return;
  TellReceipts();  // Of the last epoch.
  running_ = std::move(pending_);
  pending_.reset();
  next_step_ = 0;
  batches_in_ = 0;
  batches_done_ = 0;
  batches_passed_ = 0;
}

void Serving::Fail(const std::string& why) {
  for (const auto* assignment : {&pending_, &running_}) {
    if (!*assignment) continue;
    SendTrouble((*assignment)->epoch, wire::pb::StageTrouble::BATCH_FAILED, why);
  }
  GiveUp();
}

void Serving::GiveUp() {
  pending_.reset();
  running_.reset();
  stage_ = std::make_shared<pipeline::NodeStage>();
  rows_.EndAll();
}

// --- Batches.

bool Serving::Takes(const std::optional<Assignment>& assignment, NodeId from,
                    const wire::Batch& batch) const {
  return assignment && batch.epoch == assignment->epoch && batch.stage == assignment->stage &&
         (from == options_.head || from == assignment->previous);
}

void Serving::OnBatch(NodeId from, wire::Batch batch) {
  if (Takes(pending_, from, batch)) Begin(batch.epoch);
  // Every batch once, and in the order in which the head made them.
  if (!Takes(running_, from, batch) || batch.step < next_step_) return;
  next_step_ = batch.step + 1;
  ++batches_in_;
  options_.on_batch();
  if (!running_) return;  // Its battery turned out to be too hot.
  const std::shared_ptr<StageWork> work = MakeWork(std::move(batch));
  const Status submitted =
      seams_.executor.Submit({.tag = {.step = work->batch.step, .epoch = work->batch.epoch},
                              .work = running_->Price(work->rows),
                              .run = [work, &parallel = parallel_] { work->Run(parallel); },
                              .done =
                                  [this, work, alive = std::weak_ptr<int>(alive_)](JobTag /*tag*/) {
                                    if (!alive.expired()) OnApplied(work);
                                  }});
  if (!submitted.ok()) {
    return SendTrouble(running_->epoch, wire::pb::StageTrouble::BATCH_FAILED, submitted.ToString());
  }
  ++jobs_waiting_;
}

std::shared_ptr<StageWork> Serving::MakeWork(wire::Batch batch) {
  auto work = std::make_shared<StageWork>();
  if (running_->layers) {  // The first of the epoch.
    work->assign.emplace(running_->spec, *std::move(running_->layers));
    running_->layers.reset();
  }
  work->stage = stage_;
  work->batch = std::move(batch);
  work->rows = work->batch.RowsIn();
  work->submitted = seams_.clock.Now();
  if (running_->accounts) work->log = rows_.log();
  work->boundary = running_->spec.range.end;
  work->spoil = options_.spoil;
  work->promised = running_->PromisedSeconds(options_.profile, work->rows);
  return work;
}

void Serving::OnApplied(const std::shared_ptr<StageWork>& work) {
  --jobs_waiting_;
  // Waiting for the one before it is not slowness, whosever that was.
  const Instant now = seams_.clock.Now();
  const Duration taken = now - std::max(work->submitted, std::exchange(last_done_, now));
  // Also of an epoch that is over: the rows are kept, and the head must know which.
  if (work->log != nullptr && work->status.ok()) {
    receipts_.Add(work->batch.epoch, work->batch.step, work->plan, work->given, work->made);
    if (receipts_.Full()) TellReceipts();
  }
  if (!running_ || work->batch.epoch != running_->epoch) return;
  if (!work->status.ok()) {
    return SendTrouble(running_->epoch, wire::pb::StageTrouble::BATCH_FAILED,
                       work->status.ToString());
  }
  step_times_.Add(work->rows, taken, work->promised);
  ++batches_done_;
  PassOn(work->batch);
}

void Serving::PassOn(wire::Batch& batch) {
  // After the last stage that it is for, the head gets it.
  const bool to_head = batch.stage > batch.last;
  if (!to_head || batch.last + 1 == running_->stages) ++batches_passed_;
  batch.to = to_head ? options_.head : running_->next;
  const NodeId via = to_head || running_->relay ? options_.head : running_->next;
  // The head keeps so few in flight that a full queue means a dead link.
  const Status sent = seams_.network.Send(via, Traffic::kActivations, wire::EncodeBatch(batch));
  last_sent_ = seams_.clock.Now();
  if (!sent.ok() && via != options_.head) {
    SendTrouble(running_->epoch, wire::pb::StageTrouble::NEXT_DOWN, sent.ToString());
  }
}

// --- What the head is told.

void Serving::Fill(wire::pb::Telemetry& telemetry) const {
  if (const std::optional<double> throttle = step_times_.Throttle()) {
    telemetry.set_throttle(*throttle);
  }
  telemetry.set_jobs_waiting(jobs_waiting_);
  telemetry.set_epoch(epoch());
  telemetry.set_batches_in(batches_in_);
  telemetry.set_batches_done(batches_done_);
  telemetry.set_batches_passed(batches_passed_);
}

void Serving::TellReceipts() {
  for (wire::pb::Receipts& receipts : receipts_.Take()) {
    wire::pb::ToHead message;
    *message.mutable_receipts() = std::move(receipts);
    options_.tell(message);
  }
}

void Serving::SendState(std::uint64_t epoch, wire::pb::StageState::Progress progress,
                        const std::string& problem, LayerFetcher::Progress loaded) {
  wire::pb::ToHead message;
  wire::pb::StageState& state = *message.mutable_state();
  state.set_epoch(epoch);
  state.set_progress(progress);
  state.set_problem(problem);
  state.set_bytes(loaded.bytes);
  state.set_bytes_total(loaded.bytes_total);
  options_.tell(message);
}

void Serving::SendTrouble(std::uint64_t epoch, wire::pb::StageTrouble::Kind kind,
                          const std::string& text) {
  wire::pb::ToHead message;
  wire::pb::StageTrouble& trouble = *message.mutable_trouble();
  trouble.set_epoch(epoch);
  trouble.set_kind(kind);
  trouble.set_text(text);
  options_.tell(message);
}

}  // namespace shoal::agent
