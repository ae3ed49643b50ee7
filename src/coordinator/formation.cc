#include "coordinator/formation.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"

namespace shoal::coordinator {
namespace {

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

std::string Name(NodeId node) { return "node " + std::to_string(ToNumber(node)); }

}  // namespace

PlaceModel ModelPlan::Sizes() const {
  PlaceModel sizes;
  for (const wire::pb::LayerFile& layer : layers) {
    sizes.layer_bytes.push_back(layer.bytes() + kv_bytes_per_position * positions);
  }
  return sizes;
}

Formation::Formation(const Seams& seams, Roster& roster, const ModelPlan& model,
                     pipeline::Replica& replica, std::uint64_t epoch_base, FormationEvents& events)
    : seams_(seams),
      roster_(roster),
      model_(model),
      replica_(replica),
      events_(events),
      epoch_(epoch_base) {}

bool Formation::InRoute(NodeId node) const {
  return std::any_of(route_.stages.begin(), route_.stages.end(),
                     [&](const RouteStage& stage) { return stage.node == node; });
}

void Formation::OnArrived() {
  if (phase_ == Phase::kWaiting) Form("a node joined");
}

void Formation::OnLost(NodeId node, const Status& why) {
  warm_.erase(node);
  if (phase_ == Phase::kWaiting || !InRoute(node)) return;
  if (phase_ == Phase::kRunning) lost_at_ = seams_.clock.Now();
  Form(Name(node) + " is gone (" + why.ToString() + ")");
}

void Formation::OnBroken(const Status& why) {
  if (phase_ != Phase::kRunning) return;
  lost_at_ = seams_.clock.Now();
  Form(why.ToString());
}

void Formation::OnState(NodeId node, const wire::pb::StageState& state) {
  if (phase_ != Phase::kForming || state.epoch() != route_.epoch || !InRoute(node)) return;
  progress_at_ = seams_.clock.Now();
  switch (state.progress()) {
    case wire::pb::StageState::READY:
      ready_.insert(node);
      if (ready_.size() == route_.stages.size()) Begin();
      return;
    case wire::pb::StageState::FAILED:
      roster_.Avoid(node, seams_.clock.Now() + kAvoidFor);
      return Form(Name(node) + " cannot hold its layers: " + state.problem());
    default:
      return;
  }
}

void Formation::OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble) {
  if (phase_ == Phase::kWaiting || trouble.epoch() != route_.epoch) return;
  const auto at = std::find_if(route_.stages.begin(), route_.stages.end(),
                               [&](const RouteStage& stage) { return stage.node == node; });
  if (at == route_.stages.end()) return;
  if (phase_ == Phase::kRunning) lost_at_ = seams_.clock.Now();
  if (trouble.kind() == wire::pb::StageTrouble::NEXT_DOWN && at + 1 != route_.stages.end()) {
    // If the next one is gone, the head sees it, too, and forms another pipeline then.
    roster_.SetUnreachable(node, (at + 1)->node);
    return Form(Name(node) + " cannot reach " + Name((at + 1)->node) + ": " + trouble.text());
  }
  roster_.Avoid(node, seams_.clock.Now() + kAvoidFor);
  Form(Name(node) + ": " + trouble.text());
}

void Formation::Form(const std::string& why) {
  replica_.Stop();
  const Instant now = seams_.clock.Now();
  const std::vector<PlaceNode> nodes = roster_.Candidates(now);
  const std::size_t stages = model_.stages_max == 0 ? nodes.size() : model_.stages_max;
  Result<std::vector<RouteStage>> placed =
      phase_ == Phase::kWaiting ? PlaceAll(model_.Sizes(), nodes, stages)
                                : Repair(model_.Sizes(), nodes, route_.stages, stages);
  ready_.clear();
  route_.epoch = ++epoch_;
  if (!placed.ok()) {
    phase_ = Phase::kWaiting;
    route_.stages.clear();
    why_waiting_ = std::string(placed.status().message());
    events_.OnNews(why + "; waiting: " + why_waiting_);
    return events_.OnFormationState(why_waiting_);
  }
  phase_ = Phase::kForming;
  route_.stages = *std::move(placed);
  progress_at_ = now;
  std::string news = why + "; epoch " + std::to_string(route_.epoch & 0xffffffffU) + ":";
  for (const RouteStage& stage : route_.stages) {
    news += " " + Name(stage.node) + " [" + std::to_string(stage.range.first) + "," +
            std::to_string(stage.range.end) + ")";
  }
  events_.OnNews(news);
  for (std::size_t i = 0; i < route_.stages.size(); ++i) SendAssign(i);
}

void Formation::SendAssign(std::size_t stage) {
  const RouteStage& own = route_.stages[stage];
  wire::pb::ToNode message;
  wire::pb::Assign& assign = *message.mutable_assign();
  assign.set_epoch(route_.epoch);
  assign.set_stage(static_cast<std::uint32_t>(stage));
  assign.set_stages(static_cast<std::uint32_t>(route_.stages.size()));
  assign.set_first(static_cast<std::uint32_t>(own.range.first));
  assign.set_end(static_cast<std::uint32_t>(own.range.end));
  assign.set_model_id(model_.id);
  assign.set_config(model_.config);
  for (std::int64_t i = own.range.first; i < own.range.end; ++i) {
    *assign.add_layers() = model_.layers[static_cast<std::size_t>(i)];
  }
  assign.set_positions(model_.positions);
  assign.set_kv(model_.kv);
  const NodeId self = seams_.network.self();
  const NodeId next = stage + 1 < route_.stages.size() ? route_.stages[stage + 1].node : self;
  assign.mutable_next()->set_node(ToNumber(next));
  if (const Member* member = roster_.Find(next); member != nullptr) {
    assign.mutable_next()->set_address(member->hello.address());
    assign.mutable_next()->set_relay(member->hello.address().empty() ||
                                     !roster_.Reachable(own.node, next));
  }
  // Who cannot be told is down, and that is an event of its own.
  (void)seams_.network.Send(own.node, Traffic::kControl, wire::Encode(message)).ok();
}

void Formation::Begin() {
  std::size_t cold = 0;
  for (std::size_t i = 0; i < route_.stages.size(); ++i) {
    const auto held = warm_.find(route_.stages[i].node);
    if (held == warm_.end() || !(held->second == route_.stages[i].range)) cold = i + 1;
  }
  warm_.clear();
  for (const RouteStage& stage : route_.stages) warm_[stage.node] = stage.range;
  phase_ = Phase::kRunning;
  why_waiting_.clear();
  events_.OnFormationState("");
  replica_.Start(route_, cold);
}

void Formation::Tick() {
  const Instant now = seams_.clock.Now();
  if (phase_ == Phase::kForming && now - progress_at_ > kLoadSilenceMax) {
    for (const RouteStage& stage : route_.stages) {
      if (ready_.contains(stage.node)) continue;
      return events_.OnUnfit(stage.node, {Code::kDeadlineExceeded, "did not load its layers"});
    }
  }
  if (phase_ != Phase::kRunning) return;
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
  lost_at_ = seams_.clock.Now();
  std::uint64_t given = replica_.batches_sent();
  for (std::size_t i = 0; i < route_.stages.size(); ++i) {
    Member* const member = roster_.Find(route_.stages[i].node);
    if (member == nullptr) continue;
    const wire::pb::Telemetry& telemetry = member->telemetry;
    const bool current = telemetry.epoch() == route_.epoch;
    const std::uint64_t in = current ? telemetry.batches_in() : 0;
    const std::uint64_t done = current ? telemetry.batches_done() : 0;
    if (in < given && i > 0) {
      // The link is stuck although both its ends are well.
      roster_.SetUnreachable(route_.stages[i - 1].node, route_.stages[i].node);
      return Form(Name(route_.stages[i].node) + " does not hear " +
                  Name(route_.stages[i - 1].node));
    }
    if (in < given || done < in) {
      roster_.Avoid(route_.stages[i].node, seams_.clock.Now() + kAvoidFor);
      return events_.OnUnfit(route_.stages[i].node, why);
    }
    given = current ? telemetry.batches_passed() : 0;
  }
  // All gave everything: the last one's link to the head.
  events_.OnUnfit(route_.stages.back().node, why);
}

}  // namespace shoal::coordinator
