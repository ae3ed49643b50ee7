#include "nn/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/arena_layout.h"
#include "nn/schedule.h"
#include "nn/views.h"

namespace shoal::nn {
namespace {

// A lifetime of its own, or a part of another's (in place).
struct Storage {
  Lifetime life;
  bool used = false;
  std::size_t shares;  // Itself, or the storage it lies in.
};

double MiB(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::size_t ChannelsOf(const Value& value) {
  return std::max<std::size_t>(1, AsImages(value.shape).channels);
}

// Works out one plan for a given schedule.
class Planner {
 public:
  Planner(const Graph& graph, const std::vector<View>& views, const Schedule& schedule)
      : graph_(graph), views_(views), schedule_(schedule) {
    const std::size_t values = graph.values().size();
    storages_.resize(3 * values);
    has_members_.resize(values, false);
    for (std::size_t v = 0; v < values; ++v) {
      if (views[v].root != v) has_members_[views[v].root] = true;
      const auto floats = static_cast<std::size_t>(graph.values()[v].shape.elements());
      for (std::size_t kind = 0; kind < 3; ++kind) storages_[3 * v + kind].life.floats = floats;
    }
    for (const Node& node : graph.nodes()) {
      saved_.push_back(storages_.size());
      for (const std::size_t floats : node.op->buffers().saved) AddStorage(floats);
    }
    for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
      const OpBuffers& buffers = graph.nodes()[schedule.steps[s].node].op->buffers();
      workspaces_.push_back(storages_.size());
      AddStorage(schedule.steps[s].kind == StepKind::kBackward ? buffers.backward_workspace
                                                               : buffers.forward_workspace);
    }
    for (std::size_t i = 0; i < storages_.size(); ++i) storages_[i].shares = i;
  }

  Plan Run() {
    TouchAll();
    FindAccumulation();
    MergeInPlace();
    Plan plan;
    plan.steps = schedule_.steps;
    plan.forward_steps = schedule_.forward_steps;
    plan.floats = LayOutStorages();
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      plan.places.push_back(PlacesOf(s));
      const Op& op = *graph_.nodes()[plan.steps[s].node].op;
      if (plan.steps[s].kind == StepKind::kForward) plan.forward_cost += op.cost();
      if (plan.steps[s].kind == StepKind::kAgain && !op.cheap()) plan.again_cost += op.cost();
    }
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const Value& value = graph_.values()[v];
      plan.values.push_back(At(v, kData));
      const bool lasting = IsSeed(v) || (!value.producer && value.has_gradient);
      plan.gradients.push_back(lasting ? At(v, kGradient) : Place());
    }
    return plan;
  }

 private:
  enum Kind : std::size_t { kData, kAgainData, kGradient };

  void AddStorage(std::size_t floats) {
    Storage storage;
    storage.life.floats = floats;
    storages_.push_back(storage);
  }

  std::size_t Id(std::size_t value, Kind kind) const { return 3 * views_[value].root + kind; }
  // The data that a step after `forward_steps` reads of a value.
  Kind Late(std::size_t value) const { return schedule_.again[value] ? kAgainData : kData; }
  bool IsSeed(std::size_t v) const {
    return graph_.values()[v].has_gradient && graph_.values()[v].loss_weight != 0;
  }
  bool Standalone(std::size_t v) const { return views_[v].root == v && !has_members_[v]; }

  void Touch(std::size_t storage, std::size_t step) {
    Storage& s = storages_[storage];
    if (!s.used) s.life.first = s.life.last = step;
    s.used = true;
    s.life.first = std::min(s.life.first, step);
    s.life.last = std::max(s.life.last, step);
  }

  void TouchAll() {
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) TouchStep(s);
    const std::size_t last = schedule_.steps.empty() ? 0 : schedule_.steps.size() - 1;
    for (const std::size_t v : graph_.inputs()) {
      Touch(Id(v, kData), 0);
      if (graph_.values()[v].has_gradient) Touch(Id(v, kGradient), last);
    }
    for (const std::size_t v : graph_.results()) Touch(Id(v, kData), last);
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      if (graph_.values()[v].loss_weight != 0) Touch(Id(v, kData), schedule_.forward_steps - 1);
      if (IsSeed(v)) Touch(Id(v, kGradient), schedule_.forward_steps);
    }
  }

  void TouchStep(std::size_t s) {
    const Step& step = schedule_.steps[s];
    const Node& node = graph_.nodes()[step.node];
    for (std::size_t i = 0; i < node.op->buffers().saved.size(); ++i) {
      Touch(saved_[step.node] + i, s);
    }
    Touch(workspaces_[s], s);
    if (step.kind == StepKind::kBackward) {
      TouchBackward(s, node);
      return;
    }
    const bool again = step.kind == StepKind::kAgain;
    for (const std::size_t v : node.inputs) Touch(Id(v, again ? Late(v) : kData), s);
    for (const std::size_t v : node.outputs) Touch(Id(v, again ? kAgainData : kData), s);
  }

  void TouchBackward(std::size_t s, const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::size_t v = node.inputs[i];
      if (node.op->reads_input(i)) Touch(Id(v, Late(v)), s);
      if (node.input_gradients[i]) Touch(Id(v, kGradient), s);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::size_t v = node.outputs[i];
      if (node.op->reads_output(i)) Touch(Id(v, Late(v)), s);
      if (graph_.values()[v].has_gradient) Touch(Id(v, kGradient), s);
    }
  }

  // The first node to write a gradient sets it, those after it add to it.
  void FindAccumulation() {
    std::vector<bool> written(graph_.values().size(), false);
    for (std::size_t v = 0; v < written.size(); ++v) written[v] = IsSeed(v);
    accumulate_.resize(schedule_.steps.size());
    for (std::size_t s = schedule_.forward_steps; s < schedule_.steps.size(); ++s) {
      const Node& node = graph_.nodes()[schedule_.steps[s].node];
      if (schedule_.steps[s].kind != StepKind::kBackward) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        accumulate_[s].push_back(node.input_gradients[i] && written[node.inputs[i]]);
        if (node.input_gradients[i]) written[node.inputs[i]] = true;
      }
    }
  }

  void MergeInPlace() {
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      const Node& node = graph_.nodes()[step.node];
      if (step.kind == StepKind::kForward && node.op->in_place() &&
          graph_.values()[node.inputs[0]].producer) {
        MergeIfDead(node.inputs[0], node.outputs[0], kData, s);
      }
      if (step.kind != StepKind::kBackward || node.outputs.empty()) continue;
      const std::optional<std::size_t> input = node.op->gradient_in_place();
      if (!input || !node.input_gradients[*input] || accumulate_[s][*input]) continue;
      // A value that the node reads twice gets its gradient from the other use, too.
      if (std::count(node.inputs.begin(), node.inputs.end(), node.inputs[*input]) > 1) continue;
      if (!graph_.values()[node.outputs[0]].has_gradient) continue;
      MergeIfDead(node.outputs[0], node.inputs[*input], kGradient, s);
    }
  }

  // Puts what begins at step `s` where something ends.
  void MergeIfDead(std::size_t ends, std::size_t begins, Kind kind, std::size_t s) {
    if (!Standalone(ends) || !Standalone(begins)) return;
    Storage& old = storages_[Id(ends, kind)];
    Storage& young = storages_[Id(begins, kind)];
    if (old.life.floats != young.life.floats || !old.used || !young.used) return;
    if (old.life.last != s || young.life.first != s) return;
    young.shares = old.shares;
    whole_last_.emplace_back(old.shares, young.life.last);
  }

  std::size_t LayOutStorages() {
    std::vector<Lifetime> lives;
    for (const Storage& storage : storages_) {
      lives.push_back(storage.life);
      if (!storage.used) lives.back().floats = 0;
    }
    for (const auto& [storage, last] : whole_last_) {
      lives[storage].last = std::max(lives[storage].last, last);
    }
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      if (storages_[i].shares != i) lives[i].floats = 0;
    }
    const std::size_t floats = LayOut(lives);
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      storages_[i].life.offset = lives[storages_[i].shares].offset;
    }
    return floats;
  }

  Place At(std::size_t v, Kind kind) const {
    const View& view = views_[v];
    const Storage& storage = storages_[Id(v, kind)];
    if (!storage.used) return {};
    return {storage.life.offset + view.channel, ChannelsOf(graph_.values()[view.root])};
  }

  Place Buffer(std::size_t storage) const {
    if (storages_[storage].life.floats == 0) return {};
    return {storages_[storage].life.offset, 1};
  }

  StepPlaces PlacesOf(std::size_t s) const {
    const Step& step = schedule_.steps[s];
    const Node& node = graph_.nodes()[step.node];
    StepPlaces places;
    for (std::size_t i = 0; i < node.op->buffers().saved.size(); ++i) {
      places.saved.push_back(Buffer(saved_[step.node] + i));
    }
    places.workspace = Buffer(workspaces_[s]);
    const bool backward = step.kind == StepKind::kBackward;
    const bool forward = step.kind == StepKind::kForward;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::size_t v = node.inputs[i];
      const bool there = !backward || node.op->reads_input(i);
      places.inputs.push_back(there ? At(v, forward ? kData : Late(v)) : Place());
      if (!backward) continue;
      places.input_gradients.push_back(node.input_gradients[i] ? At(v, kGradient) : Place());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::size_t v = node.outputs[i];
      const bool there = !backward || node.op->reads_output(i);
      const Kind kind = forward ? kData : (backward ? Late(v) : kAgainData);
      places.outputs.push_back(there ? At(v, kind) : Place());
      if (!backward) continue;
      const bool gradient = graph_.values()[v].has_gradient;
      places.output_gradients.push_back(gradient ? At(v, kGradient) : Place());
    }
    if (backward) places.accumulate = accumulate_[s];
    return places;
  }

  const Graph& graph_;
  const std::vector<View>& views_;
  const Schedule& schedule_;
  std::vector<Storage> storages_;  // Three per value, then saved buffers and workspaces.
  std::vector<bool> has_members_;
  std::vector<std::size_t> saved_;       // Per node, the first of its buffers.
  std::vector<std::size_t> workspaces_;  // Per step.
  std::vector<std::vector<bool>> accumulate_;
  std::vector<std::pair<std::size_t, std::size_t>> whole_last_;  // Storages that live longer.
};

// What is recomputed without being asked, if the arena becomes so much smaller: of a training step,
// of which forward is a third, it is 3 %. ResNets keep 0.75 of their arena, for they expand 64
// channels to 256 by convolutions that do little work an element.
constexpr double kWorkShare = 0.1;
constexpr double kWorthwhile = 0.85;

// How many candidates may be recomputed for that.
std::size_t CheapCount(const Graph& graph, const std::vector<std::size_t>& candidates,
                       double forward_cost) {
  double cost = 0;
  std::size_t count = 0;
  for (; count < candidates.size(); ++count) {
    cost += graph.nodes()[candidates[count]].op->cost();
    if (cost > kWorkShare * forward_cost) break;
  }
  return count;
}

Plan PlanWith(const Graph& graph, const std::vector<View>& views,
              const std::vector<std::size_t>& candidates, std::size_t count) {
  ExtraNodes extra(graph.nodes().size(), false);
  for (std::size_t i = 0; i < count; ++i) extra[candidates[i]] = true;
  const Schedule schedule = MakeSchedule(graph, views, extra);
  return Planner(graph, views, schedule).Run();
}

}  // namespace

Result<Plan> MakePlan(const Graph& graph, std::size_t bytes_max) {
  const std::vector<View> views = FindViews(graph);
  const std::vector<std::size_t> candidates = ExtraCandidates(graph, views);
  Plan plan = PlanWith(graph, views, candidates, 0);
  std::size_t too_few = CheapCount(graph, candidates, plan.forward_cost);
  Plan small = PlanWith(graph, views, candidates, too_few);
  if (static_cast<double>(small.floats) <= kWorthwhile * static_cast<double>(plan.floats)) {
    plan = std::move(small);
  }
  const auto fits = [&] { return bytes_max == 0 || plan.floats * sizeof(float) <= bytes_max; };
  if (fits()) return plan;
  // As few extra nodes as it takes: the arena shrinks with their number, nearly always.
  std::size_t enough = candidates.size();
  plan = PlanWith(graph, views, candidates, enough);
  if (!fits()) {
    return Status(Code::kResourceExhausted,
                  fmt::format("the network needs {:.1f} MiB beside its parameters, even when it "
                              "recomputes what it can, and may use {:.1f} MiB: use a smaller batch",
                              MiB(plan.floats * sizeof(float)), MiB(bytes_max)));
  }
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    Plan tried = PlanWith(graph, views, candidates, middle);
    if (tried.floats * sizeof(float) <= bytes_max) {
      enough = middle;
      plan = std::move(tried);
    } else {
      too_few = middle;
    }
  }
  return plan;
}

}  // namespace shoal::nn
