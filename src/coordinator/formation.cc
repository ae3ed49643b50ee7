#include "coordinator/formation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "coordinator/placement.h"
#include "wire/enrol.h"

namespace shoal::coordinator {
namespace {

using pipeline::Route;
using pipeline::RouteStage;

// A node that gets no byte further for so long while it loads its layers is given up.
constexpr Duration kLoadSilenceMax = std::chrono::seconds(10);
// A batch is late if it takes longer than both.
constexpr Duration kStallMin = std::chrono::seconds(1);
constexpr double kStallFactor = 4;
// Until there is something to compare with.
constexpr Duration kFirstBatchMax = std::chrono::seconds(15);
// A node that failed is used again after this, or earlier if there is no other.
constexpr Duration kAvoidFor = std::chrono::seconds(20);

// A node that failed and must be used for want of others is asked again so often.
constexpr Duration kRetryInterval = std::chrono::seconds(2);
// For several pipelines instead of one, a token must take less than this share of what it does now.
constexpr double kWorthwhile = 0.7;

// Whom a node may ask for layers, beside the head.
constexpr int kSourcesMax = 3;

bool Contains(const Route& route, NodeId node) {
  return std::any_of(route.stages.begin(), route.stages.end(),
                     [&](const RouteStage& stage) { return stage.node == node; });
}

// What a node says of its trouble, fit for a log and for whoever asks after the cluster's health.
std::string Said(const std::string& text) {
  constexpr std::size_t kSaidBytesMax = 512;
  return text.size() <= kSaidBytesMax && wire::IsPlainText(text) ? text : "for no printable reason";
}

std::string Name(NodeId node) { return "node " + std::to_string(ToNumber(node)); }

std::string Describe(const Route& route, const pipeline::Prediction& predicted) {
  std::string text = "epoch " + std::to_string(route.epoch & 0xffffffffU) + ":";
  for (const RouteStage& stage : route.stages) {
    text += " " + Name(stage.node) + " [" + std::to_string(stage.range.first) + "," +
            std::to_string(stage.range.end) + ")";
  }
  std::array<char, 160> figures{};
  (void)std::snprintf(figures.data(), figures.size(),
                      "; predicted %.1f ms a token, %.2f tokens/s, with 8 users %.2f",
                      1e3 * predicted.seconds_per_token, predicted.tokens_per_second_1,
                      predicted.tokens_per_second_8);
  return text + figures.data();
}

}  // namespace

pipeline::PlanModel ModelPlan::Costs() const {
  pipeline::PlanModel costs;
  costs.positions = positions;
  costs.dim = dim;
  costs.trusted_ends = trusted_ends;
  for (const wire::pb::LayerFile& layer : layers) {
    costs.layers.push_back(
        {.weight_bytes = layer.bytes(),
         .row_bytes = static_cast<std::uint64_t>(row_share * static_cast<double>(layer.bytes())),
         .multiply_adds = multiply_adds,
         .kv_bytes_per_position = kv_bytes_per_position});
  }
  return costs;
}

Formation::Formation(const Seams& seams, Roster& roster, const ModelPlan& model,
                     pipeline::Replica& replica, pipeline::LayerServer& server,
                     FormationEvents& events)
    : seams_(seams),
      roster_(roster),
      model_(model),
      replica_(replica),
      server_(server),
      events_(events) {}

Formation::~Formation() { seams_.clock.Cancel(improve_timer_); }

bool Formation::Needs(NodeId node) const { return running() && Contains(replica_.route(), node); }

std::set<NodeId> Formation::Nodes() const {
  std::set<NodeId> nodes;
  for (const auto& [node, range] : warm_) nodes.insert(node);
  if (forming_) {
    for (const RouteStage& stage : forming_->stages) nodes.insert(stage.node);
  }
  return nodes;
}

bool Formation::Has(NodeId node) const {
  return warm_.contains(node) || (forming_ && Contains(*forming_, node));
}

void Formation::Dismiss() {
  replica_.Stop();
  for (const NodeId node : Nodes()) Release(node);
  forming_.reset();
  warm_.clear();
}

// A spare keeps its layers on flash, not keys and values of answers that go on elsewhere.
void Formation::Release(NodeId node) {
  wire::pb::ToNode message;
  message.set_release(true);
  Tell(node, message);
}

void Formation::OnLost(NodeId node, Instant heard, const Status& why) {
  warm_.erase(node);
  const std::string news = Name(node) + " is gone (" + why.ToString() + ")";
  if (Needs(node)) {
    NotePause(std::max(heard, replica_.last_moved()));
    Break(news);
  } else if (forming_ && Contains(*forming_, node)) {
    Form(Start::kAsItIs, news);
  }
}

void Formation::OnDraining(NodeId node) {
  if (Needs(node) || (forming_ && Contains(*forming_, node))) {
    Form(Start::kAsItIs, Name(node) + " is being drained");
  }
}

void Formation::OnResting(NodeId node, bool at_once) {
  const bool is_prepared = forming_ && Contains(*forming_, node);
  if (!is_prepared && (!Needs(node) || (forming_ && !at_once))) return;
  const std::string news = Name(node) + " must rest";
  const Means means = events_.GetMeans();
  const bool others = Repair(model_.Costs(), means.cluster, means.wish, {}, means.price).ok();
  if (Needs(node) && (at_once || !others)) return Break(news);
  Form(Start::kAsItIs, news);
}

void Formation::OnBroken(const Status& why) {
  NotePause(replica_.last_moved());
  Form(Start::kAsItIs, why.ToString());
}

void Formation::OnDrawn() {
  if (const std::optional<Pause> pause = pauses_.Drawn(seams_.clock.Now())) {
    events_.OnNews(pause->ToString());
  }
}

void Formation::NotePause(Instant alive) {
  if (replica_.size() > 0) pauses_.Stopped(alive, seams_.clock.Now());
}

void Formation::OnState(NodeId node, const wire::pb::StageState& state) {
  if (!forming_ || state.epoch() != forming_->epoch || !Contains(*forming_, node)) return;
  // Saying that one loads is no progress; a byte is.
  if (state.progress() != wire::pb::StageState::LOADING || state.bytes() > loaded_[node]) {
    loaded_[node] = state.bytes();
    progress_at_ = seams_.clock.Now();
  }
  switch (state.progress()) {
    case wire::pb::StageState::READY:
      ready_.insert(node);
      NoteLayers(node);
      if (ready_.size() == forming_->stages.size()) Begin();
      return;
    case wire::pb::StageState::FAILED:
      roster_.Avoid(node, seams_.clock.Now() + kAvoidFor);
      return Form(Start::kAsItIs, Name(node) + " cannot hold its layers: " + Said(state.problem()));
    default:
      return;
  }
}

// What it is ready with is on its flash.
void Formation::NoteLayers(NodeId node) {
  Member* const member = roster_.Find(node);
  for (const RouteStage& stage : forming_->stages) {
    if (member == nullptr || stage.node != node) continue;
    for (std::int64_t i = stage.range.first; i < stage.range.end; ++i) {
      member->layers.insert(model_.layers[static_cast<std::size_t>(i)].sha256());
    }
  }
}

void Formation::OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble) {
  const bool of_forming = forming_ && trouble.epoch() == forming_->epoch;
  const bool of_running = running() && trouble.epoch() == replica_.route().epoch;
  if (!of_forming && !of_running) return;
  const std::vector<RouteStage>& stages = of_forming ? forming_->stages : replica_.route().stages;
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const RouteStage& stage) { return stage.node == node; });
  if (at == stages.end()) return;
  std::string news = Name(node) + ": " + Said(trouble.text());
  // What already passes the head cannot be out of reach.
  if (trouble.kind() == wire::pb::StageTrouble::NEXT_DOWN && at + 1 != stages.end() &&
      roster_.Reachable(node, (at + 1)->node)) {
    // If the next one is gone, the head sees it, too, and forms another pipeline then.
    roster_.SetUnreachable(node, (at + 1)->node);
    news = Name(node) + " cannot reach " + Name((at + 1)->node) + ": " + Said(trouble.text());
  } else {
    roster_.Avoid(node, seams_.clock.Now() + kAvoidFor);
  }
  if (of_running) {
    Break(news);
  } else {
    Form(Start::kAsItIs, news);
  }
}

void Formation::OnApart(NodeId from, NodeId to) {
  const auto are_neighbours = [&](const Route& route) {
    for (std::size_t i = 1; i < route.stages.size(); ++i) {
      if (route.stages[i - 1].node == from && route.stages[i].node == to) return true;
    }
    return false;
  };
  const std::string news =
      Name(from) + " and " + Name(to) + " disagree about what passed between them";
  if (running() && are_neighbours(replica_.route())) {
    Break(news);
  } else if (forming_ && are_neighbours(*forming_)) {
    Form(Start::kAsItIs, news);
  }
}

void Formation::Break(const std::string& why) {
  NotePause(replica_.last_moved());
  replica_.Stop();
  // Whatever was being prepared was meant for another day.
  forming_.reset();
  Form(Start::kAsItIs, why);
}

void Formation::Form(Start start, const std::string& why) {
  const std::vector<RouteStage> old = start == Start::kAnew ? std::vector<RouteStage>()
                                      : forming_            ? forming_->stages
                                                            : replica_.route().stages;
  const Means means = events_.GetMeans();
  Result<std::vector<RouteStage>> placed =
      Repair(model_.Costs(), means.cluster, means.wish, old, means.price, means.layer_price);
  forming_.reset();
  if (!placed.ok()) {
    if (running()) return;
    const bool is_new = why_waiting_ != placed.status().message();
    why_waiting_ = std::string(placed.status().message());
    if (why != why_waiting_) {
      events_.OnNews(why + "; waiting: " + why_waiting_);
    } else if (is_new) {
      events_.OnNews("waiting: " + why_waiting_);
    }
    return events_.OnFormationState(why_waiting_);
  }
  const Instant now = seams_.clock.Now();
  bool is_new = true;
  if (std::any_of(placed->begin(), placed->end(),
                  [&](const RouteStage& stage) { return roster_.IsAvoided(stage.node, now); })) {
    // Nobody else is left for what a node has just failed at. It may go better, but not at once.
    if (now < next_retry_) {
      ImproveIn(next_retry_ - now);
      if (running()) return;
      why_waiting_ = why;
      return events_.OnFormationState(why_waiting_);
    }
    next_retry_ = now + kRetryInterval;
    is_new = why != std::exchange(retried_for_, why);
  }
  Prepare(*std::move(placed), is_new ? why : "");
}

void Formation::Prepare(std::vector<RouteStage> stages, const std::string& why) {
  ready_.clear();
  loaded_.clear();
  if (!replica_.route().stages.empty()) {
    events_.OnMoves(Changed(replica_.route().stages, stages));
  }
  forming_ = {.epoch = events_.NextEpoch(), .stages = std::move(stages)};
  progress_at_ = seams_.clock.Now();
  Predict();
  if (!why.empty()) events_.OnNews(why + "; " + Describe(*forming_, predicted_));
  for (std::size_t i = 0; i < forming_->stages.size(); ++i) SendAssign(i);
  if (!why_waiting_.empty()) {
    why_waiting_ = "nodes are getting their layers";
    events_.OnFormationState(why_waiting_);
  }
}

void Formation::Predict() {
  const Means means = events_.GetMeans();
  const Route& route = forming_ ? *forming_ : replica_.route();
  predicted_ = pipeline::Predict(model_.Costs(), means.cluster, means.wish, route.stages)
                   .value_or(predicted_);
}

void Formation::ImproveIn(Duration delay) {
  if (improve_set_) return;
  improve_set_ = true;
  improve_timer_ = seams_.clock.CallAfter(delay, [this] {
    improve_set_ = false;
    Improve();
  });
}

void Formation::Improve() {
  if (forming_) return ImproveIn(running() ? kImproveAfter : kGatherFor);
  if (!running()) return Form(Start::kAsItIs, why_waiting_);
  const Means means = events_.GetMeans();
  const pipeline::PlanModel costs = model_.Costs();
  const Result<pipeline::ClusterPlan> plan = PlanPipelines(costs, means.cluster, means.wish);
  if (!plan.ok()) return;
  const std::vector<RouteStage>& now = replica_.route().stages;
  const std::vector<RouteStage>& better = plan->replicas.front().stages;
  const bool asked_for = now.size() < means.wish.stages && now.size() < better.size();
  const std::optional<double> today = ObjectiveSeconds(costs, means.cluster, means.wish, now);
  // Of many answers together it is all pipelines that count: what is left over becomes others.
  const bool more = means.wish.objective == pipeline::Objective::kThroughput &&
                    plan->replicas.size() > 1 && today &&
                    1 / plan->tokens_per_second < kWorthwhile * *today;
  if (asked_for || more || !today) Form(Start::kAnew, "nodes have joined");
}

void Formation::SendAssign(std::size_t stage) {
  const Route& route = *forming_;
  const RouteStage& own = route.stages[stage];
  wire::pb::ToNode message;
  wire::pb::Assign& assign = *message.mutable_assign();
  assign.set_epoch(route.epoch);
  assign.set_stage(static_cast<std::uint32_t>(stage));
  assign.set_stages(static_cast<std::uint32_t>(route.stages.size()));
  assign.set_first(static_cast<std::uint32_t>(own.range.first));
  assign.set_end(static_cast<std::uint32_t>(own.range.end));
  assign.set_model_id(model_.id);
  assign.set_config(model_.config);
  for (std::int64_t i = own.range.first; i < own.range.end; ++i) {
    const wire::pb::LayerFile& layer = model_.layers[static_cast<std::size_t>(i)];
    *assign.add_layers() = layer;
    server_.Grant(own.node, layer.sha256());
  }
  NameSources(own.node, assign);
  assign.set_positions(model_.positions);
  assign.set_kv(model_.kv);
  assign.set_receipts(model_.receipts);
  const NodeId self = seams_.network.self();
  if (stage > 0) assign.set_previous(ToNumber(route.stages[stage - 1].node));
  const NodeId next = stage + 1 < route.stages.size() ? route.stages[stage + 1].node : self;
  assign.mutable_next()->set_node(ToNumber(next));
  if (const Member* member = roster_.Find(next); member != nullptr) {
    assign.mutable_next()->set_address(member->hello.address());
    assign.mutable_next()->set_relay(member->hello.address().empty() ||
                                     !roster_.Reachable(own.node, next));
  }
  Tell(own.node, message);
}

// Other nodes that have some of what it lacks, so that not all comes from the head.
void Formation::NameSources(NodeId node, wire::pb::Assign& assign) {
  const Member* const own = roster_.Find(node);
  if (own == nullptr) return;
  for (const auto& [id, member] : roster_.members()) {
    if (assign.sources_size() == kSourcesMax) return;
    if (id == node || member.hello.address().empty() || !roster_.Reachable(node, id)) continue;
    wire::pb::ToNode message;
    wire::pb::Grant& grant = *message.mutable_grant();
    for (const wire::pb::LayerFile& layer : assign.layers()) {
      if (!own->layers.contains(layer.sha256()) && member.layers.contains(layer.sha256())) {
        grant.add_layers(layer.sha256());
      }
    }
    if (grant.layers().empty()) continue;
    grant.set_node(ToNumber(node));
    Tell(id, message);
    wire::pb::Hop& source = *assign.add_sources();
    source.set_node(ToNumber(id));
    source.set_address(member.hello.address());
  }
}

// Who cannot be told is down, and that is an event of its own.
void Formation::Tell(NodeId node, const wire::pb::ToNode& message) {
  (void)seams_.network.Send(node, Traffic::kControl, wire::Encode(message)).ok();
}

void Formation::Begin() {
  Route route = *std::move(forming_);
  forming_.reset();
  std::size_t cold = 0;
  for (std::size_t i = 0; i < route.stages.size(); ++i) {
    const auto held = warm_.find(route.stages[i].node);
    // Of what it held before, a stage that got smaller still has the rest.
    if (held == warm_.end() || !held->second.Contains(route.stages[i].range)) cold = i + 1;
  }
  for (const auto& [node, range] : warm_) {
    if (!Contains(route, node)) Release(node);
  }
  warm_.clear();
  for (const RouteStage& stage : route.stages) warm_[stage.node] = stage.range;
  why_waiting_.clear();
  pauses_.Resumed(seams_.clock.Now());
  wire::pb::ToNode begin;
  begin.set_begin(route.epoch);
  for (const RouteStage& stage : route.stages) Tell(stage.node, begin);
  replica_.Start(std::move(route), cold);
  events_.OnFormationState("");
}

void Formation::Tick() {
  const Instant now = seams_.clock.Now();
  if (replica_.size() == 0) pauses_.Forget();
  if (forming_ && now - progress_at_ > kLoadSilenceMax) {
    for (const RouteStage& stage : forming_->stages) {
      if (ready_.contains(stage.node)) continue;
      return events_.OnUnfit(stage.node, {Code::kDeadlineExceeded, "did not load its layers"});
    }
  }
  if (!running()) return;
  const Instant since = replica_.WaitingSince();
  if (since != Instant::Never() && now - since > StallLimit()) BlameForStall();
}

Duration Formation::StallLimit() const {
  const std::optional<Duration> usual = replica_.SlowestLately();
  if (!usual) return kFirstBatchMax;
  return std::max(
      kStallMin,
      Duration(static_cast<Duration::rep>(kStallFactor * static_cast<double>(usual->count()))));
}

// Everybody says that it is alive, and nothing comes back. The first stage that has taken in more
// than it gave out is stuck; if there is none, the link before the first that misses something is.
void Formation::BlameForStall() {
  const Status why(Code::kDeadlineExceeded, "its batch is late");
  // That they say so is no sign of life that would count here.
  NotePause(replica_.last_moved());
  const Route& route = replica_.route();
  std::uint64_t given = replica_.batches_sent();
  for (std::size_t i = 0; i < route.stages.size(); ++i) {
    Member* const member = roster_.Find(route.stages[i].node);
    if (member == nullptr) continue;
    const wire::pb::Telemetry& telemetry = member->telemetry;
    const bool current = telemetry.epoch() == route.epoch;
    const std::uint64_t in = current ? telemetry.batches_in() : 0;
    const std::uint64_t done = current ? telemetry.batches_done() : 0;
    if (in < given && i > 0) {
      const NodeId before = route.stages[i - 1].node;
      const std::string news = Name(route.stages[i].node) + " does not hear " + Name(before);
      if (roster_.Reachable(before, route.stages[i].node)) {
        // The link is stuck although both its ends are well.
        roster_.SetUnreachable(before, route.stages[i].node);
      } else {
        // It is the head that passes their batches on: one of them does not say what is true.
        for (const NodeId node : {before, route.stages[i].node}) {
          roster_.Avoid(node, seams_.clock.Now() + kAvoidFor);
        }
      }
      return Break(news);
    }
    if (in < given || done < in) {
      roster_.Avoid(route.stages[i].node, seams_.clock.Now() + kAvoidFor);
      return events_.OnUnfit(route.stages[i].node, why);
    }
    given = current ? telemetry.batches_passed() : 0;
  }
  // All gave everything: the last one's link to the head.
  events_.OnUnfit(route.stages.back().node, why);
}

}  // namespace shoal::coordinator
