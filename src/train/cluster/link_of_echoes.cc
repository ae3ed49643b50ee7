#include "train/cluster/link_of_echoes.h"

#include <cmath>
#include <map>
#include <vector>

namespace shoal::train {

Result<collective::LinkModel> LinkOfEchoes(std::span<const std::uint64_t> elements,
                                           std::span<const double> seconds) {
  if (elements.size() != seconds.size()) {
    return Status(Code::kInvalidArgument, "not one time for each turn");
  }
  std::map<std::uint64_t, double> best;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(seconds[i]) || seconds[i] <= 0) {
      return Status(Code::kInvalidArgument, "a time that is none");
    }
    const auto [known, is_new] = best.emplace(elements[i], seconds[i]);
    if (seconds[i] < known->second) known->second = seconds[i];
  }
  std::vector<collective::LinkSample> samples;
  for (const auto& [count, there_and_back] : best) {
    samples.push_back({4 * static_cast<double>(count), there_and_back / 2});
  }
  if (samples.size() < 2) return Status(Code::kInvalidArgument, "fewer than two sizes");
  const Result<collective::LinkModel> link = collective::FitLink(samples);
  if (link.ok() && link->bytes_per_second < kLinkRateMax) return *link;
  return collective::LinkModel{.alpha_seconds = samples.front().seconds,
                               .bytes_per_second = kLinkRateMax};
}

}  // namespace shoal::train
