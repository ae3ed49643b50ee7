#include "agent/agent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/revision.h"
#include "train/cluster/revision.h"

namespace shoal::agent {

Agent::Agent(const Seams& seams, AgentOptions options, pipeline::LayerStore& store, Probe& probe,
             Parallel& parallel)
    : seams_(seams),
      options_(std::move(options)),
      store_(store),
      probe_(probe),
      news_(seams.clock, options_.news),
      server_(seams.network, store),
      serving_(seams,
               {.head = options_.head,
                .profile = options_.hello.profile(),
                .tell = [this](const wire::pb::ToHead& message) { Tell(message); },
                .on_batch = [this] { BeBusy(); },
                .spoil = options_.spoil},
               store, news_, parallel),
      auditing_(seams, options_.head, store, news_, parallel,
                [this](const wire::pb::ToHead& message) { Tell(message); }) {
  if (options_.trains != nullptr) {
    worker_.emplace(seams_, train::WorkerOptions{.head = options_.head, .news = options_.news},
                    *options_.trains);
  }
  seams_.network.Attach(this);
  Dial();
  ping_timer_ = seams_.clock.CallAfter(kPingInterval, [this] { PingAll(); });
}

Agent::~Agent() {
  seams_.network.Attach(nullptr);
  for (const TimerId timer : {dial_timer_, telemetry_timer_, awake_timer_, ping_timer_}) {
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
  serving_.OnPeerUp(peer);
  auditing_.OnPeerUp(peer);
  if (worker_) worker_->OnPeerUp(peer);
  if (peer != options_.head) return;
  back_off_ = kDialFirst;
  news_.Say("connected to the head at " + options_.head_address);
  wire::pb::ToHead message;
  *message.mutable_hello() = options_.hello;
  if (worker_) message.mutable_hello()->set_training(train::kTrainingRevision);
  for (std::string& sha256 : store_.Whole()) message.mutable_hello()->add_cached(sha256);
  Tell(message);
  seams_.clock.Cancel(telemetry_timer_);
  TellTelemetry();
}

void Agent::OnPeerDown(NodeId peer, const Status& why) {
  up_.erase(peer);
  round_trips_.Forget(peer);
  server_.OnPeerDown(peer);
  serving_.OnPeerDown(peer, why);
  auditing_.OnPeerDown(peer);
  if (worker_) worker_->OnPeerDown(peer);
  if (peer != options_.head) return;
  if (options_.set_duty) options_.set_duty(1);
  seams_.clock.Cancel(telemetry_timer_);
  news_.Say("no link to the head at " + options_.head_address +
            ", trying again: " + std::string(why.message()));
  DialLater();
}

void Agent::OnWritable(NodeId peer, Traffic traffic) {
  // Of batches, a full queue means a dead link; Serving has said so.
  if (traffic == Traffic::kBulk) server_.OnWritable(peer);
  if (traffic == Traffic::kActivations && worker_) worker_->OnWritable(peer);
}

void Agent::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (worker_ && train::Worker::IsForWorker(traffic, frame)) {
    return worker_->OnFrame(from, traffic, std::move(frame));
  }
  switch (traffic) {
    case Traffic::kControl:
      return OnControl(from, frame);
    case Traffic::kActivations:
      return OnBatchFrame(from, frame);
    case Traffic::kBulk:
      return OnPieceFrame(from, frame);
  }
}

void Agent::OnPieceFrame(NodeId from, const Frame& frame) {
  const Result<wire::Piece> piece = wire::DecodePiece(frame);
  if (!piece.ok()) return;
  if (piece->kind == wire::Piece::Kind::kGet) return server_.OnGet(from, *piece);
  serving_.OnPiece(from, *piece);
  auditing_.OnPiece(from, *piece);
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
    const auto now = static_cast<std::uint64_t>(seams_.clock.Now().since_origin.count());
    // A peer that makes up numbers is no nearer for it.
    const std::uint64_t trip = now - message->pong();
    if (trip < static_cast<std::uint64_t>(Duration(std::chrono::minutes(1)).count())) {
      round_trips_.Add(from, Duration(static_cast<Duration::rep>(trip)));
    }
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
      return serving_.Begin(message->begin());
    case wire::pb::ToNode::kRowsGet:
      return serving_.OnRowsGet(message->rows_get());
    case wire::pb::ToNode::kForget:
      return auditing_.Forget(message->forget());
    case wire::pb::ToNode::kTrain:
      if (worker_) worker_->OnMessage(message->train());
      return;
    case wire::pb::ToNode::kRelease:
      return serving_.GiveUp();
    case wire::pb::ToNode::kLimit: {
      const double duty = message->limit().duty();
      if (options_.set_duty && duty > 0 && duty <= 1) options_.set_duty(duty);
      return;
    }
    default:
      return;
  }
}

void Agent::OnAssign(const wire::pb::Assign& assign) {
  const auto refuse = [&](const std::string& problem) { serving_.Refuse(assign.epoch(), problem); };
  Result<pipeline::StageSpec> spec = ReadStageSpec(assign);
  if (!spec.ok()) return refuse(std::string(spec.status().message()));
  if (options_.hello.metered() && !HasAll(assign)) {
    return refuse("its link costs money, and it has not all of these layers");
  }
  if (heat_guard_.hot()) return refuse("its battery is too hot to compute");
  if (assign.audit()) return auditing_.Begin(assign, *std::move(spec));
  serving_.Assign(assign, *std::move(spec));
}

bool Agent::HasAll(const wire::pb::Assign& assign) const {
  const std::vector<std::string> whole = store_.Whole();
  return std::all_of(assign.layers().begin(), assign.layers().end(), [&](const auto& layer) {
    return std::find(whole.begin(), whole.end(), layer.sha256()) != whole.end();
  });
}

void Agent::OnBatchFrame(NodeId from, const Frame& frame) {
  if (wire::BatchDestination(frame) != seams_.network.self()) return;
  Result<wire::Batch> batch = wire::DecodeBatch(frame);
  // Of an epoch that is over, or of another arithmetic: from a stranger, whoever sent it.
  if (!batch.ok() || batch->arithmetic != kernels::kKernelRevision) return;
  // Of audits, only what the head sends counts: others could make somebody look guilty.
  if (auditing_.Has(batch->epoch)) {
    if (from == options_.head) auditing_.OnBatch(*std::move(batch));
    return;
  }
  serving_.OnBatch(from, *std::move(batch));
}

void Agent::BeBusy() {
  last_batch_ = seams_.clock.Now();
  if (busy_) return;
  busy_ = true;
  seams_.clock.Cancel(telemetry_timer_);
  seams_.clock.Cancel(awake_timer_);  // Of the last time, if that was just now.
  TellTelemetry();
  StayAwake();
}

void Agent::TellTelemetry() {
  const Instant now = seams_.clock.Now();
  if (busy_ && now - last_batch_ > kAwakeAfterBatch) busy_ = false;
  wire::pb::ToHead message;
  wire::pb::Telemetry& telemetry = *message.mutable_telemetry();
  probe_.Read(telemetry);
  sensor_check_.Check(telemetry, now, busy_);
  serving_.Fill(telemetry);
  // What was true before a rest need not be now.
  if (const std::optional<double> slowness = serving_.Slowness(); slowness && busy_) {
    telemetry.set_slowness(*slowness);
  }
  for (const auto& [peer, trip] : round_trips_.Usual()) {
    wire::pb::RoundTrip& entry = *telemetry.add_round_trips();
    entry.set_node(ToNumber(peer));
    entry.set_milliseconds(ToMilliseconds(trip));
  }
  Tell(message);
  serving_.TellReceipts();
  MindHeat(telemetry);
  telemetry_timer_ = seams_.clock.CallAfter(busy_ ? kBusyTelemetryInterval : kTelemetryInterval,
                                            [this] { TellTelemetry(); });
}

// The head has just heard of it and will not ask again; if it does, it is told.
void Agent::MindHeat(const wire::pb::Telemetry& telemetry) {
  const bool was_hot = heat_guard_.hot();
  heat_guard_.Update(
      telemetry.has_battery_celsius() ? std::optional(telemetry.battery_celsius()) : std::nullopt,
      seams_.clock.Now());
  if (heat_guard_.hot() == was_hot) return;
  if (was_hot) return news_.Say("has cooled down: ready to compute again");
  news_.Say("the battery has " + std::to_string(static_cast<int>(telemetry.battery_celsius())) +
            " degrees: no computing before it has less than " +
            std::to_string(static_cast<int>(kCoolCelsius)));
  serving_.Fail("its battery is too hot to compute");
  auditing_.Fail("its battery is too hot to compute");
  if (worker_) worker_->GiveUp();
}

// While an answer is being made, no radio on its way falls asleep.
void Agent::StayAwake() {
  if (!busy_) return;
  const Instant now = seams_.clock.Now();
  if (now - std::max(last_sent_, serving_.last_sent()) >= kAwakeInterval) {
    wire::pb::ToHead message;
    message.set_awake(true);
    Tell(message);
  }
  awake_timer_ = seams_.clock.CallAfter(kAwakeInterval, [this] { StayAwake(); });
}

void Agent::Tell(const wire::pb::ToHead& message) {
  if (!has_head()) return;
  // A full queue of control frames: the link is as good as dead, and the head will notice.
  (void)seams_.network.Send(options_.head, Traffic::kControl, wire::Encode(message)).ok();
  last_sent_ = seams_.clock.Now();
}

}  // namespace shoal::agent
