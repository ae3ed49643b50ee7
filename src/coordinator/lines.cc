#include "coordinator/lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "coordinator/balance.h"

namespace shoal::coordinator {
namespace {

// Answers of a line that does not run for so long go elsewhere, if there is elsewhere.
constexpr Duration kMoveAfter = std::chrono::seconds(1);
// Nodes that failed are tried again some time.
constexpr Duration kLookInterval = std::chrono::seconds(5);
// Speeds change one after the other when something happens to many nodes; nodes that come or go are
// looked after first.
constexpr Duration kBalanceAfterBelief = std::chrono::seconds(1);
constexpr Duration kBalanceAfterChange = std::chrono::seconds(10);
// Nodes that have moved too often may move again after a while.
constexpr Duration kBalanceAfterRefusal = std::chrono::minutes(1);
// What is believed of nodes that rest is forgotten without anybody saying so.
constexpr Duration kBalanceInterval = std::chrono::minutes(10);
// What a repair waits for layers that a node has not on its flash is set against the time until
// something else happens: on a good Wi-Fi, and with phones as they are.
constexpr double kLoadBytesPerSecond = 50e6;
constexpr Duration kRepairLasts = std::chrono::minutes(10);

}  // namespace

Lines::Lines(const LineWorld& world, std::uint64_t epoch_base, LinesEvents& events)
    : world_(world), events_(events), epoch_(epoch_base) {
  AddLine();
  look_at_ = world_.seams.clock.Now() + kLookInterval;
  balance_at_ = world_.seams.clock.Now() + kBalanceInterval;
}

void Lines::OnArrived() {
  improve_ = true;
  LookSoon();
  BalanceSoon(kBalanceAfterChange);
}

void Lines::OnLost(NodeId node, Instant heard, const Status& why) {
  if (Line* const line = Owner(node)) line->formation().OnLost(node, heard, why);
}

void Lines::OnDraining(NodeId node) {
  if (Line* const line = Owner(node)) line->formation().OnDraining(node);
}

void Lines::OnResting(NodeId node, bool at_once) {
  if (Line* const line = Owner(node)) line->formation().OnResting(node, at_once);
}

void Lines::OnState(NodeId node, const wire::pb::StageState& state) {
  if (Line* const line = Owner(node)) line->formation().OnState(node, state);
}

void Lines::OnTrouble(NodeId node, const wire::pb::StageTrouble& trouble) {
  if (Line* const line = Owner(node)) line->formation().OnTrouble(node, trouble);
}

void Lines::OnBatch(NodeId from, wire::Batch batch) {
  if (Line* const line = Owner(from)) line->replica().OnBatch(from, std::move(batch));
}

bool Lines::MayPass(NodeId from, const wire::Batch& batch) const {
  const Line* const line = Owner(from);
  if (line == nullptr || !line->running()) return false;
  const pipeline::Route& route = line->replica().route();
  return batch.epoch == route.epoch && batch.stage > 0 && batch.stage < route.stages.size() &&
         route.stages[batch.stage - 1].node == from && route.stages[batch.stage].node == batch.to;
}

void Lines::OnDispute(NodeId sender, NodeId receiver) {
  const bool is_direct = world_.roster.Reachable(sender, receiver);
  world_.roster.KeepApart(sender, receiver);
  if (!is_direct) return;
  for (const auto& line : lines_) line->formation().OnApart(sender, receiver);
}

bool Lines::HasRoom(std::size_t positions) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const auto& line) { return line->running() && line->HasRoom(positions); });
}

void Lines::Add(std::uint64_t sequence, std::size_t positions, std::vector<std::int32_t> history,
                std::shared_ptr<llm::Sampler> sampler) {
  SHOAL_CHECK(HasRoom(positions));
  std::vector<Line*> open;
  std::vector<LineLoad> loads;
  for (const auto& line : lines_) {
    if (!line->running() || !line->HasRoom(positions)) continue;
    open.push_back(line.get());
    loads.push_back(line->Load());
  }
  Line* const best = open[ChooseLine(loads)];
  homes_[sequence] = best;
  best->Add(sequence, positions, std::move(history), std::move(sampler));
}

void Lines::Remove(std::uint64_t sequence) {
  const auto found = homes_.find(sequence);
  if (found == homes_.end()) return;
  Line* const line = found->second;
  homes_.erase(found);
  line->Remove(sequence);
}

bool Lines::AnyRunning() const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [](const auto& line) { return line->running(); });
}

std::string Lines::why_waiting() const {
  for (const auto& line : lines_) {
    if (line->formation().why_waiting().empty()) return "";
  }
  return lines_.front()->formation().why_waiting();
}

bool Lines::Needs(NodeId node) const {
  const Line* const line = Owner(node);
  return line != nullptr && line->replica().size() > 0 && line->formation().Needs(node);
}

void Lines::Tick() {
  for (const auto& line : lines_) line->formation().Tick();
  EndVacant();
  const Instant now = world_.seams.clock.Now();
  for (const auto& line : lines_) {
    if (line->StoppedFor(now) > kMoveAfter && AnyRunning()) MoveAnswers(*line);
  }
  if (now >= look_at_) Look();
  if (world_.roster.beliefs() != beliefs_) BalanceSoon(kBalanceAfterBelief);
  if (now >= balance_at_) BalanceAll();
}

// One is always left, and has then all nodes to form from.
void Lines::EndVacant() {
  for (std::size_t i = lines_.size(); i-- > 0 && lines_.size() > 1;) {
    if (!lines_[i]->vacant()) continue;
    const std::unique_ptr<Line> line = std::move(lines_[i]);
    lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(i));
    events_.OnNews("replica " + std::to_string(line->number()) +
                   " ends: " + line->formation().why_waiting());
    line->formation().Dismiss();
    MoveAnswers(*line);
    events_.OnLinesChanged();
    OnArrived();
  }
}

void Lines::MoveAnswers(Line& line) {
  const std::vector<std::uint64_t> sequences = line.RemoveAll();
  for (const std::uint64_t sequence : sequences) homes_.erase(sequence);
  if (!sequences.empty()) events_.OnHomeless(sequences);
}

void Lines::LookSoon() {
  const Duration delay = AnyRunning() ? kImproveAfter : kGatherFor;
  look_at_ = std::min(look_at_, world_.seams.clock.Now() + delay);
}

// What is down comes first, then more lines, then better ones.
void Lines::Look() {
  look_at_ = world_.seams.clock.Now() + kLookInterval;
  const bool improve = std::exchange(improve_, false);
  for (const auto& line : lines_) {
    if (improve && line->vacant()) line->formation().Improve();
  }
  Grow();
  for (const auto& line : lines_) {
    line->formation().Predict();
    // Without spares nothing can be had that was not there before.
    if (improve && !Spares().nodes.empty()) line->formation().Improve();
  }
}

// As many lines as the spares can carry. Not of fewer stages than were asked for: such nodes serve
// better as spares.
void Lines::Grow() {
  const std::size_t limit = world_.model.wish.replicas_max;
  const std::size_t stages = std::min(world_.model.wish.stages, world_.model.layers.size());
  for (bool added = true; added && (limit == 0 || lines_.size() < limit);) {
    added = false;
    const pipeline::PlanCluster spares = Spares();
    if (spares.nodes.size() < std::max<std::size_t>(stages, 1)) return;
    Result<pipeline::ClusterPlan> plan =
        PlanPipelines(world_.model.Costs(), spares, WishBeside(lines_.size()));
    if (!plan.ok()) return;
    for (pipeline::PlannedReplica& replica : plan->replicas) {
      if (replica.stages.size() < stages) continue;
      AddLine().formation().Prepare(std::move(replica.stages), "spares suffice for it");
      added = true;
    }
  }
}

void Lines::BalanceSoon(Duration delay) {
  balance_at_ = std::min(balance_at_, world_.seams.clock.Now() + delay);
}

void Lines::BalanceAll() {
  balance_at_ = world_.seams.clock.Now() + kBalanceInterval;
  beliefs_ = world_.roster.beliefs();
  for (const auto& line : lines_) {
    // One that forms is looked at when it has begun.
    if (line->running() && !line->formation().forming()) BalanceLine(*line);
  }
}

void Lines::BalanceLine(Line& line) {
  const Instant now = world_.seams.clock.Now();
  Means means = MeansOf(line);
  BalanceCase today = {.model = world_.model.Costs(),
                       .cluster = std::move(means.cluster),
                       .wish = means.wish,
                       .route = line.replica().route().stages,
                       .slowness = {},
                       .price = [&](NodeId node, bool more) {
                         const double price = budget_.Price(node, more, now);
                         if (!std::isfinite(price)) BalanceSoon(kBalanceAfterRefusal);
                         return price;
                       }};
  for (const pipeline::PlanNode& node : today.cluster.nodes) {
    if (const std::optional<double> slowness = world_.roster.Slowness(node.id, now)) {
      today.slowness[node.id] = *slowness;
    }
  }
  std::optional<BalanceMove> move = Balance(today);
  if (!move) return;
  line.formation().Prepare(std::move(move->stages), move->why);
}

// What a line is to be like if there are so many others. For one answer at a time, or with a given
// number of stages, each is best made as if it were the only one. For many answers together the
// planner must know how many it may make.
pipeline::PlanWish Lines::WishBeside(std::size_t others) const {
  pipeline::PlanWish wish = world_.model.wish;
  if (wish.objective != pipeline::Objective::kThroughput || wish.stages != 0) {
    wish.replicas_max = 1;
  } else if (wish.replicas_max != 0) {
    wish.replicas_max -= others;
  }
  return wish;
}

pipeline::PlanCluster Lines::Spares() const {
  pipeline::PlanCluster spares =
      world_.roster.Candidates(world_.seams.clock.Now(), TakenByOthers(nullptr));
  std::erase_if(spares.nodes, [](const pipeline::PlanNode& node) { return node.avoid; });
  return spares;
}

Line* Lines::Owner(NodeId node) const {
  for (const auto& line : lines_) {
    if (line->formation().Has(node)) return line.get();
  }
  return nullptr;
}

std::set<NodeId> Lines::TakenByOthers(const Line* line) const {
  std::set<NodeId> taken;
  for (const auto& other : lines_) {
    if (other.get() != line) taken.merge(other->formation().Nodes());
  }
  return taken;
}

Line& Lines::AddLine() {
  std::size_t number = 1;
  while (std::any_of(lines_.begin(), lines_.end(),
                     [&](const auto& line) { return line->number() == number; })) {
    ++number;
  }
  LineEvents& events = *this;
  return *lines_.emplace_back(std::make_unique<Line>(number, world_, events));
}

void Lines::OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) {
  events_.OnDrawn(sequence, token);
}

void Lines::OnDamaged(std::uint64_t sequence) { events_.OnDamaged(sequence); }

// A route that changed may have left nodes over.
void Lines::OnLineState() {
  LookSoon();
  BalanceSoon(kBalanceAfterChange);
  events_.OnLinesChanged();
}

void Lines::OnUnfit(NodeId node, const Status& why) { events_.OnUnfit(node, why); }

void Lines::OnNews(const std::string& line) { events_.OnNews(line); }

void Lines::OnMoves(const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    if (world_.roster.Find(node) != nullptr) budget_.Spend(node, world_.seams.clock.Now());
  }
}

Means Lines::MeansOf(const Line& line) const {
  const Instant now = world_.seams.clock.Now();
  return {world_.roster.Candidates(now, TakenByOthers(&line)), WishBeside(lines_.size() - 1),
          [this, now](NodeId node, bool more) { return budget_.PriceOfRepair(node, more, now); },
          [this](NodeId node, std::int64_t layer) { return PriceOfLayer(node, layer); }};
}

double Lines::PriceOfLayer(NodeId node, std::int64_t layer) const {
  const wire::pb::LayerFile& file = world_.model.layers[static_cast<std::size_t>(layer)];
  const Member* const member = world_.roster.Find(node);
  if (member == nullptr || member->layers.contains(file.sha256())) return 0;
  return static_cast<double>(file.bytes()) / kLoadBytesPerSecond / ToSeconds(kRepairLasts);
}

}  // namespace shoal::coordinator
