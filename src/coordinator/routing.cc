#include "coordinator/routing.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::coordinator {
namespace {

// So little longer is as good.
constexpr double kAboutAsGood = 1.1;

}  // namespace

std::vector<double> ExpectedSeconds(const std::vector<LineLoad>& loads) {
  double factors = 0;
  std::size_t known = 0;
  for (const LineLoad& load : loads) {
    if (!load.measured || !(load.predicted > 0)) continue;
    factors += *load.measured / load.predicted;
    ++known;
  }
  const double factor = known == 0 ? 1 : factors / static_cast<double>(known);
  std::vector<double> seconds;
  for (const LineLoad& load : loads) {
    // Every batch that is in flight serves a share of the answers.
    const double share = static_cast<double>(load.answers) / static_cast<double>(load.stages + 1);
    seconds.push_back(load.measured.value_or(load.predicted * factor) * (1 + share));
  }
  return seconds;
}

std::size_t ChooseLine(const std::vector<LineLoad>& loads) {
  SHOAL_CHECK(!loads.empty());
  const std::vector<double> seconds = ExpectedSeconds(loads);
  const double least = *std::min_element(seconds.begin(), seconds.end());
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (!(seconds[i] <= least * kAboutAsGood)) continue;
    if (!best || loads[i].positions_free > loads[*best].positions_free) best = i;
  }
  return best.value_or(0);
}

}  // namespace shoal::coordinator
