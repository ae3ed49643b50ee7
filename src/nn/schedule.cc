#include "nn/schedule.h"

#include <algorithm>

namespace shoal::nn {
namespace {

// Which values some node's Backward reads.
std::vector<bool> ReadBackward(const Graph& graph) {
  std::vector<bool> read(graph.values().size(), false);
  for (const Node& node : graph.nodes()) {
    if (!node.runs_backward) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->reads_input(i)) read[node.inputs[i]] = true;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.op->reads_output(i)) read[node.outputs[i]] = true;
    }
  }
  return read;
}

// A residual sum is made of the sum before it: recomputing the last of a stage recomputes them all,
// and they live at the same time. So every so many of a chain are kept, which costs a pass over
// each sum once and bounds what lives. ResNet-152 has chains of 35.
constexpr std::size_t kChainMax = 6;

class Chooser {
 public:
  Chooser(const Graph& graph, const std::vector<View>& views, const ExtraNodes& extra)
      : graph_(graph), views_(views), extra_(extra), read_(ReadBackward(graph)) {
    members_.resize(views.size());
    for (std::size_t v = 0; v < views.size(); ++v) members_[views[v].root].push_back(v);
  }

  std::vector<bool> Choose() const {
    std::vector<bool> again(views_.size(), false);
    // How many values must be computed again, one from the other, to have this one.
    std::vector<std::size_t> chain(views_.size(), 0);
    for (std::size_t root = 0; root < views_.size(); ++root) {
      const std::vector<std::size_t>& members = members_[root];
      const bool needed = std::any_of(members.begin(), members.end(),
                                      [&](std::size_t v) { return bool{read_[v]}; });
      if (!needed || !std::all_of(members.begin(), members.end(),
                                  [&](std::size_t v) { return MayComeAgain(v); })) {
        continue;
      }
      std::size_t longest = 0;
      for (const std::size_t v : members) longest = std::max(longest, ChainTo(v, chain));
      if (longest >= kChainMax) continue;
      for (const std::size_t v : members) {
        again[v] = true;
        chain[v] = longest + 1;
      }
    }
    return again;
  }

 private:
  bool MayComeAgain(std::size_t v) const {
    const Value& value = graph_.values()[v];
    // A result lives to the end in any case.
    if (!value.producer || value.consumers.empty()) return false;
    const Node& node = graph_.nodes()[*value.producer];
    if (!node.op->cheap() && !extra_[*value.producer]) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](std::size_t input) {
      return read_[input] || views_[input].root == views_[v].root;
    });
  }

  std::size_t ChainTo(std::size_t v, const std::vector<std::size_t>& chain) const {
    std::size_t longest = 0;
    for (const std::size_t input : graph_.nodes()[*graph_.values()[v].producer].inputs) {
      longest = std::max(longest, chain[input]);
    }
    return longest;
  }

  const Graph& graph_;
  const std::vector<View>& views_;
  const ExtraNodes& extra_;
  std::vector<bool> read_;
  std::vector<std::vector<std::size_t>> members_;
};

class Scheduler {
 public:
  Scheduler(const Graph& graph, Schedule& schedule)
      : graph_(graph), schedule_(schedule), done_(graph.values().size(), false) {}

  void Run() {
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) Add(StepKind::kForward, n);
    schedule_.forward_steps = schedule_.steps.size();
    for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      if (!node.runs_backward) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.op->reads_input(i)) Materialise(node.inputs[i]);
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.op->reads_output(i)) Materialise(node.outputs[i]);
      }
      Add(StepKind::kBackward, n);
    }
  }

 private:
  void Add(StepKind kind, std::size_t node) { schedule_.steps.push_back({kind, node}); }

  void Materialise(std::size_t value) {
    if (!schedule_.again[value] || done_[value]) return;
    const std::size_t producer = *graph_.values()[value].producer;
    const Node& node = graph_.nodes()[producer];
    for (const std::size_t input : node.inputs) Materialise(input);
    Add(StepKind::kAgain, producer);
    for (const std::size_t output : node.outputs) done_[output] = true;
  }

  const Graph& graph_;
  Schedule& schedule_;
  std::vector<bool> done_;
};

}  // namespace

Schedule MakeSchedule(const Graph& graph, const std::vector<View>& views, const ExtraNodes& extra) {
  Schedule schedule;
  schedule.again = Chooser(graph, views, extra).Choose();
  Scheduler(graph, schedule).Run();
  return schedule;
}

std::vector<std::size_t> ExtraCandidates(const Graph& graph, const std::vector<View>& views) {
  const std::vector<bool> read = ReadBackward(graph);
  std::vector<std::size_t> order;
  std::vector<double> gain(graph.nodes().size(), 0);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.op->cheap() || node.outputs.size() != 1) continue;
    const std::size_t output = node.outputs[0];
    if (!read[output] && views[output].root == output) continue;
    gain[n] = static_cast<double>(graph.values()[output].shape.elements()) /
              std::max(node.op->cost(), 1.0);
    order.push_back(n);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
  // A node whose sources, seen through cheap nodes, are kept; its sources are then kept for good.
  std::vector<bool> kept(graph.nodes().size(), false);
  std::vector<bool> chosen(graph.nodes().size(), false);
  const auto sources = [&](std::size_t n) {
    std::vector<std::size_t> found;
    std::vector<std::size_t> open = graph.nodes()[n].inputs;
    while (!open.empty()) {
      const Value& value = graph.values()[open.back()];
      open.pop_back();
      if (!value.producer) continue;
      const Node& producer = graph.nodes()[*value.producer];
      if (producer.op->cheap()) {
        open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
      } else {
        found.push_back(*value.producer);
      }
    }
    return found;
  };
  std::vector<std::size_t> candidates;
  for (const std::size_t n : order) {
    const std::vector<std::size_t> from = sources(n);
    if (kept[n] ||
        std::any_of(from.begin(), from.end(), [&](std::size_t s) { return bool{chosen[s]}; })) {
      continue;
    }
    chosen[n] = true;
    for (const std::size_t s : from) kept[s] = true;
    candidates.push_back(n);
  }
  return candidates;
}

}  // namespace shoal::nn
