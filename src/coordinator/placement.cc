#include "coordinator/placement.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"

namespace shoal::coordinator {
namespace {

using pipeline::LayerRange;
using pipeline::RouteStage;

std::uint64_t Bytes(const PlaceModel& model, const LayerRange& range) {
  std::uint64_t sum = 0;
  for (std::int64_t i = range.first; i < range.end; ++i) {
    sum += model.layer_bytes[static_cast<std::size_t>(i)];
  }
  return sum;
}

const PlaceNode* FindNode(const std::vector<PlaceNode>& nodes, NodeId id) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const PlaceNode& n) { return n.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

bool Fits(const PlaceModel& model, const std::vector<PlaceNode>& nodes, NodeId id,
          const LayerRange& range) {
  const PlaceNode* node = FindNode(nodes, id);
  return node != nullptr && Bytes(model, range) <= node->memory_bytes;
}

std::string Megabytes(std::uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000); }

// Gives [lost.first, lost.end) to a spare or to neighbours. False: nobody has room.
bool Fill(const PlaceModel& model, const std::vector<PlaceNode>& nodes, const LayerRange& lost,
          std::vector<RouteStage>& stages) {
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const RouteStage& s) { return s.range.first >= lost.end; });
  const PlaceNode* best = nullptr;
  for (const PlaceNode& node : nodes) {
    const bool used = std::any_of(stages.begin(), stages.end(),
                                  [&](const RouteStage& s) { return s.node == node.id; });
    if (used || node.avoid || !Fits(model, nodes, node.id, lost)) continue;
    if (best == nullptr || node.speed > best->speed) best = &node;
  }
  if (best != nullptr) {
    stages.insert(at, {best->id, lost});
    return true;
  }
  RouteStage* const before = at == stages.begin() ? nullptr : &*(at - 1);
  RouteStage* const after = at == stages.end() ? nullptr : &*at;
  // Both get some, the faster one more; if only one has room, all.
  std::int64_t to_before = 0;
  if (before != nullptr && after != nullptr) {
    const PlaceNode* a = FindNode(nodes, before->node);
    const PlaceNode* b = FindNode(nodes, after->node);
    if (a != nullptr && b != nullptr) {
      const double all =
          static_cast<double>(lost.size() + before->range.size() + after->range.size());
      const double wish =
          all * a->speed / (a->speed + b->speed) - static_cast<double>(before->range.size());
      to_before = std::clamp<std::int64_t>(static_cast<std::int64_t>(wish + 0.5), 0, lost.size());
    }
  } else if (before != nullptr) {
    to_before = lost.size();
  }
  const auto fits = [&](std::int64_t give) {
    const bool left =
        give == 0 || (before != nullptr &&
                      Fits(model, nodes, before->node, {before->range.first, lost.first + give}));
    const bool right = give == lost.size() ||
                       (after != nullptr &&
                        Fits(model, nodes, after->node, {lost.first + give, after->range.end}));
    return left && right;
  };
  for (std::int64_t off = 0; off <= lost.size(); ++off) {
    for (const std::int64_t give : {to_before - off, to_before + off}) {
      if (give < 0 || give > lost.size() || !fits(give)) continue;
      if (give > 0) before->range.end = lost.first + give;
      if (give < lost.size()) after->range.first = lost.first + give;
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<RouteStage>> PlaceAll(const PlaceModel& model, std::vector<PlaceNode> nodes,
                                         std::size_t stages_max) {
  const auto layers = static_cast<std::int64_t>(model.layer_bytes.size());
  // The fastest ones, those to avoid last, and then in the order of their ids.
  std::sort(nodes.begin(), nodes.end(), [](const PlaceNode& a, const PlaceNode& b) {
    if (a.avoid != b.avoid) return b.avoid;
    return a.speed != b.speed ? a.speed > b.speed : a.id < b.id;
  });
  std::uint64_t needed = 0;
  std::uint64_t there = 0;
  for (const std::uint64_t bytes : model.layer_bytes) needed += bytes;
  for (const PlaceNode& node : nodes) there += node.memory_bytes;
  std::size_t willing = 0;
  for (const PlaceNode& node : nodes) willing += node.avoid ? 0 : 1;
  // As few as are allowed; more only if they do not fit.
  for (std::size_t count =
           std::min({nodes.size(), std::max<std::size_t>(stages_max, 1),
                     std::max<std::size_t>(willing, 1), static_cast<std::size_t>(layers)});
       count > 0 && count <= nodes.size(); ++count) {
    std::vector<PlaceNode> chosen(nodes.begin(),
                                  nodes.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(chosen.begin(), chosen.end(),
              [](const PlaceNode& a, const PlaceNode& b) { return a.id < b.id; });
    double speed_left = 0;
    for (const PlaceNode& node : chosen) speed_left += node.speed;
    std::vector<RouteStage> stages;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::int64_t left = layers - at;
      const auto others = static_cast<std::int64_t>(chosen.size() - i - 1);
      auto want =
          static_cast<std::int64_t>(static_cast<double>(left) * chosen[i].speed / speed_left + 0.5);
      want = others == 0
                 ? left
                 : std::clamp<std::int64_t>(want, 1, std::max<std::int64_t>(left - others, 1));
      speed_left -= chosen[i].speed;
      LayerRange range = {at, std::min(at + want, layers)};
      while (range.size() > 0 && Bytes(model, range) > chosen[i].memory_bytes) --range.end;
      if (range.size() == 0) continue;
      stages.push_back({chosen[i].id, range});
      at = range.end;
    }
    // What is left over goes to whoever has room, from the back.
    for (std::size_t i = stages.size(); i > 0 && at < layers; --i) {
      std::int64_t more = 0;
      while (at + more < layers &&
             Bytes(model, {stages[i - 1].range.first, stages[i - 1].range.end + more + 1}) <=
                 FindNode(chosen, stages[i - 1].node)->memory_bytes) {
        ++more;
      }
      for (std::size_t j = i; j < stages.size(); ++j) {
        stages[j].range.first += more;
        stages[j].range.end += more;
      }
      stages[i - 1].range.end += more;
      at += more;
    }
    const bool whole =
        at == layers && std::all_of(stages.begin(), stages.end(), [&](const auto& s) {
          return Fits(model, nodes, s.node, s.range);
        });
    if (whole) return stages;
  }
  return Status(Code::kResourceExhausted,
                "the model takes " + Megabytes(needed) + " MB, the nodes that are here have " +
                    Megabytes(there) + " MB for it" +
                    (needed > there ? ": " + Megabytes(needed - there) + " MB are missing"
                                    : ", in pieces too small for its layers"));
}

Result<std::vector<RouteStage>> Repair(const PlaceModel& model, const std::vector<PlaceNode>& nodes,
                                       const std::vector<RouteStage>& old, std::size_t stages_max) {
  std::vector<RouteStage> stages;
  std::vector<LayerRange> lost;
  for (const RouteStage& stage : old) {
    const PlaceNode* node = FindNode(nodes, stage.node);
    if (node != nullptr && !node->avoid) {
      stages.push_back(stage);
    } else if (!lost.empty() && lost.back().end == stage.range.first) {
      lost.back().end = stage.range.end;
    } else {
      lost.push_back(stage.range);
    }
  }
  if (stages.empty()) return PlaceAll(model, nodes, stages_max);
  for (const LayerRange& range : lost) {
    if (!Fill(model, nodes, range, stages)) return PlaceAll(model, nodes, stages_max);
  }
  return stages;
}

}  // namespace shoal::coordinator
