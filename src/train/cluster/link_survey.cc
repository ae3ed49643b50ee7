#include "train/cluster/link_survey.h"

#include <algorithm>

namespace shoal::train {
namespace {

constexpr std::size_t kDistanceMax = 8;
constexpr std::size_t kAllPairsMax = 2 * kDistanceMax + 1;

}  // namespace

LinkSurvey::LinkSurvey(std::span<const NodeId> nodes, const LinkTable& known) {
  const std::size_t size = nodes.size();
  const std::size_t farthest = size <= kAllPairsMax ? size : kDistanceMax + 1;
  for (std::size_t distance = 1; distance < farthest; ++distance) {
    for (std::size_t i = 0; i + distance < size; ++i) {
      const Pair pair(nodes[i], nodes[i + distance]);
      if (!known.WasTried(pair.first, pair.second)) left_.push_back(pair);
    }
  }
}

bool LinkSurvey::IsBusy(NodeId node) const {
  return std::any_of(busy_.begin(), busy_.end(), [node](const Pair& pair) {
    return pair.first == node || pair.second == node;
  });
}

std::vector<LinkSurvey::Pair> LinkSurvey::TakeFree() {
  std::vector<Pair> taken;
  for (auto pair = left_.begin(); pair != left_.end();) {
    if (IsBusy(pair->first) || IsBusy(pair->second)) {
      ++pair;
      continue;
    }
    taken.push_back(*pair);
    busy_.insert(*pair);
    pair = left_.erase(pair);
  }
  return taken;
}

void LinkSurvey::Done(const Pair& pair) { busy_.erase(pair); }

void LinkSurvey::Leave(NodeId node) {
  const auto has = [node](const Pair& pair) { return pair.first == node || pair.second == node; };
  std::erase_if(left_, has);
  std::erase_if(busy_, has);
}

std::vector<LinkSurvey::Pair> LinkSurvey::Rest() const {
  std::vector<Pair> rest(left_.begin(), left_.end());
  rest.insert(rest.end(), busy_.begin(), busy_.end());
  return rest;
}

}  // namespace shoal::train
