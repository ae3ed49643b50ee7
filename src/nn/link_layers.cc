#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "nn/links.h"

namespace shoal::nn {
namespace {

// How many bottoms and tops a layer may have.
struct Arity {
  std::size_t bottoms_min = 1, bottoms_max = 1;
  std::size_t tops_min = 1, tops_max = 1;
};

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct ArityOf {
  Arity operator()(const InputDef&) const { return {0, 0, 1, kAny}; }
  Arity operator()(const ConcatDef&) const { return {1, kAny, 1, 1}; }
  Arity operator()(const EltwiseDef&) const { return {2, kAny, 1, 1}; }
  Arity operator()(const ScaleDef&) const { return {1, 2, 1, 1}; }
  Arity operator()(const BiasDef&) const { return {1, 2, 1, 1}; }
  Arity operator()(const SplitDef&) const { return {1, 1, 1, kAny}; }
  Arity operator()(const SliceDef&) const { return {1, 1, 1, kAny}; }
  Arity operator()(const SoftmaxLossDef&) const { return {2, 2, 0, 2}; }
  Arity operator()(const EuclideanLossDef&) const { return {2, 2, 0, 1}; }
  Arity operator()(const AccuracyDef&) const { return {2, 2, 0, 1}; }
  Arity operator()(const SilenceDef&) const { return {1, kAny, 0, 0}; }
  template <class Other>
  Arity operator()(const Other&) const {
    return {};
  }
};

Status Wrong(const LayerDef& layer, std::string_view what) {
  return Status(Code::kInvalidArgument, "layer '" + layer.name + "': " + std::string(what));
}

Status CheckCount(const LayerDef& layer, std::string_view what, std::size_t count, std::size_t min,
                  std::size_t max) {
  if (count >= min && count <= max) return {};
  std::string wanted = std::to_string(min);
  if (max == kAny) {
    wanted = "at least " + wanted;
  } else if (max != min) {
    wanted += " to " + std::to_string(max);
  }
  return Wrong(layer,
               "has " + std::to_string(count) + " " + std::string(what) + ", but needs " + wanted);
}

// The names that are visible while layers are read in order.
class Linker {
 public:
  explicit Linker(Phase phase) : phase_(phase) {}

  Status Add(const LayerDef& layer) {
    const Arity arity = std::visit(ArityOf(), layer.op);
    SHOAL_RETURN_IF_ERROR(
        CheckCount(layer, "bottoms", layer.bottoms.size(), arity.bottoms_min, arity.bottoms_max));
    SHOAL_RETURN_IF_ERROR(
        CheckCount(layer, "tops", layer.tops.size(), arity.tops_min, arity.tops_max));
    if (!names_.insert(layer.name).second) return Wrong(layer, "another layer has that name");
    Link link{.layers = {&layer}, .inputs = {}, .outputs = {}};
    for (const std::string& bottom : layer.bottoms) {
      const auto found = current_.find(bottom);
      if (found == current_.end()) {
        return Wrong(layer, "bottom '" + bottom + "' is made by no layer before it");
      }
      link.inputs.push_back(found->second);
    }
    const bool alias = IsAlias(layer);
    for (std::size_t i = 0; i < layer.tops.size(); ++i) {
      const std::string& top = layer.tops[i];
      const bool in_place = i < layer.bottoms.size() && layer.bottoms[i] == top;
      if (current_.contains(top) && !in_place) {
        return Wrong(layer, "top '" + top + "' is made by another layer already");
      }
      if (alias) {
        current_[top] = link.inputs[0];
        continue;
      }
      link.outputs.push_back(links_.values.size());
      links_.values.push_back(top);
      current_[top] = link.outputs.back();
    }
    if (alias) return {};
    if (link.outputs.empty()) {
      // A loss that nobody named counts all the same.
      link.outputs.push_back(links_.values.size());
      links_.values.push_back(layer.name);
    }
    links_.links.push_back(std::move(link));
    return {};
  }

  Links Take() { return std::move(links_); }

 private:
  // Layers whose tops are their bottom: gradients of a value with several readers are summed
  // without a Split, and a Dropout drops nothing in a test.
  bool IsAlias(const LayerDef& layer) const {
    if (const auto* dropout = std::get_if<DropoutDef>(&layer.op)) {
      return phase_ == Phase::kTest || dropout->ratio == 0;
    }
    return std::holds_alternative<SplitDef>(layer.op) ||
           std::holds_alternative<SilenceDef>(layer.op);
  }

  Phase phase_;
  Links links_;
  std::map<std::string, std::size_t, std::less<>> current_;
  std::set<std::string> names_;
};

}  // namespace

Result<Links> LinkLayers(const NetDef& net) {
  Linker linker(net.phase);
  for (const LayerDef& layer : net.layers) SHOAL_RETURN_IF_ERROR(linker.Add(layer));
  Links links = linker.Take();
  if (links.links.empty()) {
    return Status(Code::kInvalidArgument, "network '" + net.name + "' has no layers in this phase");
  }
  return links;
}

std::vector<std::vector<std::size_t>> Consumers(const Links& links) {
  std::vector<std::vector<std::size_t>> consumers(links.values.size());
  for (std::size_t i = 0; i < links.links.size(); ++i) {
    for (const std::size_t value : links.links[i].inputs) consumers[value].push_back(i);
  }
  return consumers;
}

}  // namespace shoal::nn
