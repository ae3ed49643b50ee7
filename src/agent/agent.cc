#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "llm/model_size.h"
#include "train/cluster/revision.h"
#include "wire/row_hash.h"

namespace shoal::agent {
namespace {

constexpr Duration kDialNextInterval = std::chrono::milliseconds(200);
// Of rows that were made: 8,000 of a model of 2,048 numbers, some forty answers.
constexpr std::size_t kLogBytesMax = std::size_t{32} << 20U;
// What every batch takes beside its layers: a frame is unpacked, threads are woken. A node with few
// layers must not look slower for it than one with many.
constexpr double kBatchSeconds = 100e-6;

}  // namespace

// A batch on its way through the executor.
class Agent::Work {
 public:
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
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> made;
  std::function<void(wire::Batch&)> spoil;

  void Run(Parallel& parallel) {
    if (assign) status = stage->Assign(assign->first, std::move(assign->second));
    if (log != nullptr && status.ok()) given = wire::RowHashes(batch.rows, batch.dim);
    if (status.ok())
      status = stage->Apply(batch, parallel, [this](wire::Batch& all) { Note(all); });
  }

 private:
  void Note(wire::Batch& all) {
    if (spoil) spoil(all);
    if (log == nullptr) return;
    made = wire::RowHashes(all.rows, all.dim);
    log->Add(all, boundary);
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
      stage_(std::make_shared<pipeline::NodeStage>()),
      log_(std::make_shared<pipeline::RowLog>(kLogBytesMax)),
      auditing_(seams, options_.head, store, news_, parallel,
                [this](const wire::pb::ToHead& message) { Tell(message); }) {
  if (options_.trains != nullptr) {
    worker_.emplace(seams_, train::WorkerOptions{.head = options_.head, .news = options_.news},
                    *options_.trains);
  }
  last_done_ = seams_.clock.Now();
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
  auditing_.OnPeerUp(peer);
  if (worker_) worker_->OnPeerUp(peer);
  if (peer != options_.head) return MaybeReady();
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
  round_trips_.erase(peer);
  server_.OnPeerDown(peer);
  fetcher_.OnPeerDown(peer);
  auditing_.OnPeerDown(peer);
  if (worker_) worker_->OnPeerDown(peer);
  if (peer == options_.head) {
    // Whoever is head next begins a new epoch; layers stay where they are, on flash and mapped.
    GiveUpStage();
    if (options_.set_duty) options_.set_duty(1);
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
  fetcher_.OnPiece(from, *piece);
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
    case wire::pb::ToNode::kRowsGet:
      return OnRowsGet(message->rows_get());
    case wire::pb::ToNode::kForget:
      return auditing_.Forget(message->forget());
    case wire::pb::ToNode::kTrain:
      if (worker_) worker_->OnMessage(message->train());
      return;
    case wire::pb::ToNode::kRelease:
      return GiveUpStage();
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
  if (heat_guard_.hot()) return refuse("its battery is too hot to compute");
  pipeline::StageSpec spec = {.model = assign.model_id(),
                              .config = *config,
                              .kv = static_cast<kernels::KvType>(assign.kv()),
                              .positions = assign.positions(),
                              .range = {assign.first(), assign.end()}};
  if (assign.audit()) return auditing_.Begin(assign, std::move(spec));
  Assignment next;
  next.epoch = assign.epoch();
  next.stage = assign.stage();
  next.stages = assign.stages();
  next.spec = std::move(spec);
  next.accounts = assign.receipts();
  const llm::RowWork row = llm::MeasureRow(*config);
  for (const wire::pb::LayerFile& layer : assign.layers()) {
    next.costs.push_back(
        {.weight_bytes = layer.bytes(),
         .row_bytes = static_cast<std::uint64_t>(row.share * static_cast<double>(layer.bytes())),
         .multiply_adds = row.multiply_adds});
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
  TellReceipts();  // Of the last epoch.
  running_ = std::move(pending_);
  pending_.reset();
  batches_in_ = 0;
  batches_done_ = 0;
  batches_passed_ = 0;
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
  if (running_->accounts) work->log = log_;
  work->boundary = running_->spec.range.end;
  work->spoil = options_.spoil;
  work->promised = PromisedSeconds(*running_, work->rows);
  shoal::Work priced;
  for (const pipeline::LayerCost& layer : running_->costs) {
    priced.operations += 2 * static_cast<double>(work->rows) * layer.multiply_adds;
    priced.bytes_moved += static_cast<double>(layer.weight_bytes);
  }
  const Status submitted =
      seams_.executor.Submit({.tag = {.step = work->batch.step, .epoch = work->batch.epoch},
                              .work = priced,
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

double Agent::PromisedSeconds(const Assignment& assignment, std::size_t rows) const {
  const wire::pb::Profile& profile = options_.hello.profile();
  const pipeline::PlanSpeeds speeds = {.weight_bytes_per_second = profile.weight_bytes_per_second(),
                                       .operations_per_second = profile.operations_per_second()};
  if (!(speeds.weight_bytes_per_second > 0 && speeds.operations_per_second > 0)) return 0;
  double seconds = kBatchSeconds;
  for (const pipeline::LayerCost& layer : assignment.costs) {
    seconds += pipeline::LayerSeconds(layer, speeds, static_cast<double>(rows));
  }
  return seconds;
}

void Agent::OnApplied(const std::shared_ptr<Work>& work) {
  --jobs_waiting_;
  // Waiting for the one before it is not slowness, whosever that was.
  const Instant now = seams_.clock.Now();
  const Duration taken = now - std::max(work->submitted, std::exchange(last_done_, now));
  if (!running_ || work->batch.epoch != running_->epoch) return;
  if (!work->status.ok()) {
    return SendTrouble(running_->epoch, wire::pb::StageTrouble::BATCH_FAILED,
                       work->status.ToString());
  }
  step_times_.Add(work->rows, taken, work->promised);
  ++batches_done_;
  if (work->log != nullptr) {
    receipts_.Add(running_->epoch, work->batch.step, work->given, work->made);
    if (receipts_.Full()) TellReceipts();
  }
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

void Agent::TellReceipts() {
  std::optional<wire::pb::Receipts> receipts = receipts_.Take();
  if (!receipts) return;
  wire::pb::ToHead message;
  *message.mutable_receipts() = *std::move(receipts);
  Tell(message);
}

void Agent::OnRowsGet(const wire::pb::RowsGet& get) {
  struct Wanted {
    std::shared_ptr<pipeline::RowLog> log;
    wire::Batch batch;
  };
  const auto wanted = std::make_shared<Wanted>();
  wanted->log = log_;
  wanted->batch.to = options_.head;
  wanted->batch.epoch = get.audit();
  wanted->batch.arithmetic = kernels::kKernelRevision;
  wanted->batch.stage = 1;
  const auto gone = [this](std::uint64_t audit) {
    wire::pb::ToHead message;
    message.set_rows_gone(audit);
    Tell(message);
  };
  if (get.count() == 0 || get.count() > wire::kBatchRowsMax) return gone(get.audit());
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = 0, .epoch = get.audit()},
       .work = {.operations = 0, .bytes_moved = 0},
       .run =
           [wanted, get] {
             const std::span<const std::uint16_t> rows =
                 wanted->log->Find(get.sequence(), get.boundary(), get.begin(), get.count());
             wanted->batch.dim = static_cast<std::uint32_t>(rows.size() / get.count());
             wanted->batch.rows.assign(rows.begin(), rows.end());
             wanted->batch.runs = {{.sequence = get.sequence(),
                                    .begin = get.begin(),
                                    .count = get.count(),
                                    .wanted = get.count()}};
           },
       .done =
           [this, wanted, gone, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired()) return;
             if (wanted->batch.rows.empty() ||
                 wanted->batch.rows.size() * 2 > kActivationsFrameBytesMax / 2) {
               return gone(tag.epoch);
             }
             (void)seams_.network
                 .Send(options_.head, Traffic::kActivations, wire::EncodeBatch(wanted->batch))
                 .ok();
           }});
  if (!submitted.ok()) gone(get.audit());
}

void Agent::TellTelemetry() {
  const Instant now = seams_.clock.Now();
  if (busy_ && now - last_batch_ > kAwakeAfterBatch) busy_ = false;
  wire::pb::ToHead message;
  wire::pb::Telemetry& telemetry = *message.mutable_telemetry();
  probe_.Read(telemetry);
  sensor_check_.Check(telemetry, now, busy_);
  if (const std::optional<double> throttle = step_times_.Throttle()) {
    telemetry.set_throttle(*throttle);
  }
  // What was true before a rest need not be now.
  if (const std::optional<double> slowness = step_times_.Slowness(); slowness && busy_) {
    telemetry.set_slowness(*slowness);
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
  TellReceipts();
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
  for (const auto* assignment : {&pending_, &running_}) {
    if (!*assignment) continue;
    SendTrouble((*assignment)->epoch, wire::pb::StageTrouble::BATCH_FAILED,
                "its battery is too hot to compute");
  }
  GiveUpStage();
}

// Layers stay on flash; keys and values are gone.
void Agent::GiveUpStage() {
  pending_.reset();
  running_.reset();
  stage_ = std::make_shared<pipeline::NodeStage>();
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
