#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "kernels/revision.h"
#include "llm/model_config_text.h"

namespace shoal::agent {
namespace {

constexpr Duration kDialNextInterval = std::chrono::milliseconds(200);

}  // namespace

// A batch on its way through the executor.
class Agent::Work {
 public:
  std::shared_ptr<pipeline::NodeStage> stage;
  // The first batch of an epoch brings its layers along.
  std::optional<std::pair<pipeline::StageSpec, Layers>> assign;
  wire::Batch batch;
  std::size_t rows = 0;
  Instant submitted;
  Status status;

  void Run(Parallel& parallel) {
    if (assign) status = stage->Assign(assign->first, std::move(assign->second));
    if (status.ok()) status = stage->Apply(batch, parallel);
  }
};

Agent::Agent(const Seams& seams, AgentOptions options, pipeline::LayerStore& store, Probe& probe,
             Parallel& parallel)
    : seams_(seams),
      options_(std::move(options)),
      store_(store),
      probe_(probe),
      parallel_(parallel),
      news_(seams.clock, options_.news),
      fetcher_(seams.clock, seams.network, store, options_.head, news_),
      server_(seams.network, store),
      stage_(std::make_shared<pipeline::NodeStage>()) {
  seams_.network.Attach(this);
  Dial();
  ping_timer_ = seams_.clock.CallAfter(kPingInterval, [this] { PingAll(); });
}

Agent::~Agent() {
  seams_.network.Attach(nullptr);
  for (const TimerId timer :
       {dial_timer_, next_timer_, telemetry_timer_, awake_timer_, ping_timer_}) {
    seams_.clock.Cancel(timer);
  }
}

void Agent::Dial() { seams_.network.Connect(options_.head, options_.head_address); }

void Agent::DialLater() {
  // Up to half as long again, so that a rack of phones does not come back in one instant.
  const Duration delay =
      back_off_ + Duration(static_cast<Duration::rep>(seams_.random.Unit() * 0.5 *
                                                      static_cast<double>(back_off_.count())));
  back_off_ = std::min(2 * back_off_, kDialMax);
  seams_.clock.Cancel(dial_timer_);
  dial_timer_ = seams_.clock.CallAfter(delay, [this] { Dial(); });
}

void Agent::OnPeerUp(NodeId peer) {
  up_.insert(peer);
  fetcher_.OnPeerUp(peer);
  if (peer != options_.head) return MaybeReady();
  back_off_ = kDialFirst;
  news_.Say("connected to the head at " + options_.head_address);
  wire::pb::ToHead message;
  *message.mutable_hello() = options_.hello;
  for (std::string& sha256 : store_.Whole()) message.mutable_hello()->add_cached(sha256);
  Tell(message);
  seams_.clock.Cancel(telemetry_timer_);
  TellTelemetry();
}

void Agent::OnPeerDown(NodeId peer, const Status& why) {
  up_.erase(peer);
  round_trips_.erase(peer);
  server_.OnPeerDown(peer);
  fetcher_.OnPeerDown(peer);
  if (peer == options_.head) {
    // Whoever is head next begins a new epoch; layers stay where they are, on flash and mapped.
    pending_.reset();
    running_.reset();
    stage_ = std::make_shared<pipeline::NodeStage>();
    seams_.clock.Cancel(telemetry_timer_);
    news_.Say("no link to the head at " + options_.head_address +
              ", trying again: " + std::string(why.message()));
    return DialLater();
  }
  if (running_ && !running_->relay && running_->next == peer) {
    SendTrouble(running_->epoch, wire::pb::StageTrouble::NEXT_DOWN, why.ToString());
  }
  if (pending_ && !pending_->relay && pending_->next == peer) {
    SendTrouble(pending_->epoch, wire::pb::StageTrouble::NEXT_DOWN, why.ToString());
    seams_.clock.Cancel(next_timer_);
    next_timer_ = seams_.clock.CallAfter(kDialNextInterval, [this] { DialNext(); });
  }
}

void Agent::OnWritable(NodeId peer, Traffic traffic) {
  // Of batches, the head keeps so few in flight that a full queue means a dead link; OnApplied has
  // said so.
  if (traffic == Traffic::kBulk) server_.OnWritable(peer);
}

void Agent::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  switch (traffic) {
    case Traffic::kControl:
      return OnControl(from, frame);
    case Traffic::kActivations:
      return OnBatchFrame(frame);
    case Traffic::kBulk:
      return OnPieceFrame(from, frame);
  }
}

void Agent::OnPieceFrame(NodeId from, const Frame& frame) {
  const Result<wire::Piece> piece = wire::DecodePiece(frame);
  if (!piece.ok()) return;
  if (piece->kind == wire::Piece::Kind::kGet) return server_.OnGet(from, *piece);
  fetcher_.OnPiece(from, *piece);
}

void Agent::PingAll() {
  ping_timer_ = seams_.clock.CallAfter(kPingInterval, [this] { PingAll(); });
  const auto stamp = static_cast<std::uint64_t>(seams_.clock.Now().since_origin.count());
  for (const NodeId peer : up_) {
    if (peer == options_.head) {
      wire::pb::ToHead message;
      message.set_ping(stamp);
      Tell(message);
    } else {
      wire::pb::ToNode message;
      message.set_ping(stamp);
      (void)seams_.network.Send(peer, Traffic::kControl, wire::Encode(message)).ok();
    }
  }
}

void Agent::OnControl(NodeId from, const Frame& frame) {
  const Result<wire::pb::ToNode> message = wire::DecodeToNode(frame);
  if (!message.ok()) return;
  if (message->has_pong()) {
    const Instant sent = {Duration(static_cast<Duration::rep>(message->pong()))};
    const Duration trip = seams_.clock.Now() - sent;
    // A peer that makes up numbers is no nearer for it.
    if (trip >= Duration{0} && trip < std::chrono::minutes(1)) round_trips_[from] = trip;
    return;
  }
  if (message->has_ping()) {
    wire::pb::ToNode pong;
    pong.set_pong(message->ping());
    (void)seams_.network.Send(from, Traffic::kControl, wire::Encode(pong)).ok();
    return;
  }
  if (from != options_.head) return;
  switch (message->body_case()) {
    case wire::pb::ToNode::kAssign:
      return OnAssign(message->assign());
    case wire::pb::ToNode::kGrant:
      for (const std::string& sha256 : message->grant().layers()) {
        server_.Grant(NodeId{message->grant().node()}, sha256);
      }
      return;
    case wire::pb::ToNode::kRevoked:
      if (options_.on_revoked) {
        options_.on_revoked(
            {message->revoked().serials().begin(), message->revoked().serials().end()});
      }
      return;
    case wire::pb::ToNode::kBegin:
      return Begin(message->begin());
    case wire::pb::ToNode::kRelease:
      pending_.reset();
      running_.reset();
      stage_ = std::make_shared<pipeline::NodeStage>();
      return;
    default:
      return;
  }
}

void Agent::OnAssign(const wire::pb::Assign& assign) {
  const auto refuse = [&](const std::string& problem) { SendFailed(assign.epoch(), problem); };
  Result<llm::ModelConfig> config = llm::ParseConfig("the assignment", assign.config());
  if (!config.ok()) return refuse(std::string(config.status().message()));
  if (assign.first() >= assign.end() || assign.end() > config->layers ||
      assign.layers_size() != static_cast<int>(assign.end() - assign.first()) ||
      assign.stage() >= assign.stages() || assign.kv() > 1) {
    return refuse("the assignment is not one");
  }
  if (options_.hello.metered() && !HasAll(assign)) {
    return refuse("its link costs money, and it has not all of these layers");
  }
  Assignment next;
  next.epoch = assign.epoch();
  next.stage = assign.stage();
  next.stages = assign.stages();
  next.spec = {.model = assign.model_id(),
               .config = *config,
               .kv = static_cast<kernels::KvType>(assign.kv()),
               .positions = assign.positions(),
               .range = {assign.first(), assign.end()}};
  for (const wire::pb::LayerFile& layer : assign.layers()) {
    next.weight_bytes += static_cast<double>(layer.bytes());
  }
  next.next = NodeId{assign.next().node()};
  next.next_address = assign.next().address();
  next.relay = assign.next().relay();
  pending_ = std::move(next);
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

bool Agent::HasAll(const wire::pb::Assign& assign) const {
  const std::vector<std::string> whole = store_.Whole();
  return std::all_of(assign.layers().begin(), assign.layers().end(), [&](const auto& layer) {
    return std::find(whole.begin(), whole.end(), layer.sha256()) != whole.end();
  });
}

void Agent::OnLoaded(std::uint64_t epoch, Result<Layers> layers) {
  if (!pending_ || pending_->epoch != epoch) return;
  if (!layers.ok()) {
    pending_.reset();
    return SendFailed(epoch, std::string(layers.status().message()));
  }
  pending_->layers = *std::move(layers);
  MaybeReady();
}

bool Agent::CanPassOn(const Assignment& assignment) const {
  return up_.contains(assignment.relay ? options_.head : assignment.next);
}

void Agent::DialNext() {
  if (pending_ && !CanPassOn(*pending_)) {
    seams_.network.Connect(pending_->next, pending_->next_address);
  }
}

void Agent::MaybeReady() {
  if (!pending_ || pending_->ready || !pending_->layers || !CanPassOn(*pending_)) return;
  pending_->ready = true;
  SendState(pending_->epoch, wire::pb::StageState::READY, "", {});
}

void Agent::Begin(std::uint64_t epoch) {
  if (!pending_ || !pending_->ready || pending_->epoch != epoch) return;
  running_ = std::move(pending_);
  pending_.reset();
  batches_in_ = 0;
  batches_done_ = 0;
  batches_passed_ = 0;
  step_times_.Clear();
}

void Agent::OnBatchFrame(const Frame& frame) {
  if (wire::BatchDestination(frame) != seams_.network.self()) return;
  Result<wire::Batch> batch = wire::DecodeBatch(frame);
  // Of an epoch that is over, or of another arithmetic: from a stranger, whoever sent it.
  if (!batch.ok() || batch->arithmetic != kernels::kKernelRevision) return;
  const auto work = std::make_shared<Work>();
  Begin(batch->epoch);
  if (!running_ || batch->epoch != running_->epoch || batch->stage != running_->stage) return;
  if (running_->layers) {  // The first of the epoch.
    work->assign.emplace(running_->spec, *std::move(running_->layers));
    running_->layers.reset();
  }
  ++batches_in_;
  last_batch_ = seams_.clock.Now();
  if (!busy_) {
    busy_ = true;
    seams_.clock.Cancel(telemetry_timer_);
    TellTelemetry();
    StayAwake();
  }
  work->stage = stage_;
  work->batch = *std::move(batch);
  work->rows = work->batch.RowsIn();
  work->submitted = seams_.clock.Now();
  const auto layers = static_cast<double>(running_->spec.range.size());
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = work->batch.step, .epoch = work->batch.epoch},
       .work = {.operations = 2 * layers * static_cast<double>(work->rows) *
                              pipeline::LayerOperations(running_->spec.config),
                .bytes_moved = running_->weight_bytes},
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

void Agent::OnApplied(const std::shared_ptr<Work>& work) {
  --jobs_waiting_;
  if (!running_ || work->batch.epoch != running_->epoch) return;
  if (!work->status.ok()) {
    return SendTrouble(running_->epoch, wire::pb::StageTrouble::BATCH_FAILED,
                       work->status.ToString());
  }
  step_times_.Add(work->rows, seams_.clock.Now() - work->submitted);
  ++batches_done_;
  // After the last stage that it is for, the head gets it.
  wire::Batch& batch = work->batch;
  const bool to_head = batch.stage > batch.last;
  if (!to_head || batch.last + 1 == running_->stages) ++batches_passed_;
  batch.to = to_head ? options_.head : running_->next;
  const NodeId via = to_head || running_->relay ? options_.head : running_->next;
  const Status sent = seams_.network.Send(via, Traffic::kActivations, wire::EncodeBatch(batch));
  last_sent_ = seams_.clock.Now();
  if (!sent.ok() && via != options_.head) {
    SendTrouble(running_->epoch, wire::pb::StageTrouble::NEXT_DOWN, sent.ToString());
  }
}

void Agent::TellTelemetry() {
  const Instant now = seams_.clock.Now();
  if (busy_ && now - last_batch_ > kAwakeAfterBatch) busy_ = false;
  wire::pb::ToHead message;
  wire::pb::Telemetry& telemetry = *message.mutable_telemetry();
  probe_.Read(telemetry);
  if (const std::optional<double> throttle = step_times_.Throttle()) {
    telemetry.set_throttle(*throttle);
  }
  for (const auto& [peer, trip] : round_trips_) {
    wire::pb::RoundTrip& entry = *telemetry.add_round_trips();
    entry.set_node(ToNumber(peer));
    entry.set_milliseconds(ToMilliseconds(trip));
  }
  telemetry.set_jobs_waiting(jobs_waiting_);
  telemetry.set_epoch(epoch());
  telemetry.set_batches_in(batches_in_);
  telemetry.set_batches_done(batches_done_);
  telemetry.set_batches_passed(batches_passed_);
  Tell(message);
  telemetry_timer_ = seams_.clock.CallAfter(busy_ ? kBusyTelemetryInterval : kTelemetryInterval,
                                            [this] { TellTelemetry(); });
}

// While an answer is being made, no radio on its way falls asleep.
void Agent::StayAwake() {
  if (!busy_) return;
  const Instant now = seams_.clock.Now();
  if (now - last_sent_ >= kAwakeInterval) {
    wire::pb::ToHead message;
    message.set_awake(true);
    Tell(message);
  }
  awake_timer_ = seams_.clock.CallAfter(kAwakeInterval, [this] { StayAwake(); });
}

void Agent::SendState(std::uint64_t epoch, wire::pb::StageState::Progress progress,
                      const std::string& problem, LayerFetcher::Progress loaded) {
  wire::pb::ToHead message;
  wire::pb::StageState& state = *message.mutable_state();
  state.set_epoch(epoch);
  state.set_progress(progress);
  state.set_problem(problem);
  state.set_bytes(loaded.bytes);
  state.set_bytes_total(loaded.bytes_total);
  Tell(message);
}

void Agent::SendFailed(std::uint64_t epoch, const std::string& problem) {
  news_.Say("cannot hold the layers that the head wants here: " + problem);
  SendState(epoch, wire::pb::StageState::FAILED, problem, {});
}

void Agent::SendTrouble(std::uint64_t epoch, wire::pb::StageTrouble::Kind kind,
                        const std::string& text) {
  wire::pb::ToHead message;
  wire::pb::StageTrouble& trouble = *message.mutable_trouble();
  trouble.set_epoch(epoch);
  trouble.set_kind(kind);
  trouble.set_text(text);
  Tell(message);
}

void Agent::Tell(const wire::pb::ToHead& message) {
  if (!has_head()) return;
  // A full queue of control frames: the link is as good as dead, and the head will notice.
  (void)seams_.network.Send(options_.head, Traffic::kControl, wire::Encode(message)).ok();
  last_sent_ = seams_.clock.Now();
}

}  // namespace shoal::agent
