// RouteSearch: the best single pipeline over some of the nodes of a cluster. For one order of the
// nodes, CutLayers finds the shortest round under a bound on the slowest stage, and lowering that
// bound the best compromise between the two; orders are then improved by exchanging nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/layer_cut.h"
#include "pipeline/plan_costs.h"
#include "pipeline/planner.h"

namespace shoal::pipeline {

struct FoundRoute {
  std::vector<PlacedStage> stages;  // Empty: there is none.
  double score = 0;                 // Seconds; the lower the better.
  std::size_t uncovered = 0;        // Layers that found no place.
};

class RouteSearch {
 public:
  // REQUIRES: chunk, prompt and users are not 0. `costs` outlives it.
  RouteSearch(const PlanCosts& costs, const PlanWish& wish) : costs_(costs), wish_(wish) {}

  // The best pipeline over nodes of `pool`, if there is one, for so many users.
  FoundRoute Find(std::vector<std::size_t> pool, std::size_t users);

  // The best over nodes of `order`, in that order: `stages` of them; 0: as many as are good.
  FoundRoute BestInOrder(const std::vector<std::size_t>& order, std::size_t users,
                         std::size_t stages);

  // What there is to be gained: seconds, of a token or of the first token, or between two tokens
  // of all users; and more for each node that is to be avoided.
  double Score(const std::vector<PlacedStage>& stages, std::size_t users) const;

  std::uint64_t steps() const { return steps_; }
  // Whether finding took so long that what there is must do.
  bool Exhausted() const { return steps_ > kStepsMax; }

 private:
  // About a second of a phone.
  static constexpr std::uint64_t kStepsMax = 150'000'000;
  static constexpr std::uint64_t kImproveStepsMax = 3'000'000;

  std::vector<std::size_t> Choose(std::vector<std::size_t> pool, std::size_t users) const;
  void TrustedOutside(std::vector<std::size_t>& pool) const;
  FoundRoute Cut(const std::vector<std::size_t>& order, const CutBound& bound);
  FoundRoute Tighten(const std::vector<std::size_t>& order, std::size_t users, double rows,
                     std::size_t stages);
  FoundRoute Improve(std::vector<std::size_t> order, std::size_t users, std::size_t stages);
  std::vector<double> RowsToTry(std::size_t users, std::size_t stages_min,
                                std::size_t stages_max) const;

  const PlanCosts& costs_;
  const PlanWish wish_;
  std::uint64_t steps_ = 0;
};

}  // namespace shoal::pipeline
