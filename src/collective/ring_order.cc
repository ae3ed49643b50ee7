#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "collective/link_model.h"

namespace shoal::collective {
namespace {

// Of an edge of the ring. Squares: one slow link is worse than two that are half as slow.
double Price(const PairTimes& times, std::uint32_t a, std::uint32_t b) {
  const double seconds = times.Between(a, b);
  return seconds * seconds;
}

// To the nearest that is left, again and again.
std::vector<std::uint32_t> Greedy(const PairTimes& times) {
  std::vector<std::uint32_t> order = {0};
  std::vector<std::uint32_t> left(times.size - 1);
  std::iota(left.begin(), left.end(), 1U);
  while (!left.empty()) {
    const auto nearest = std::min_element(left.begin(), left.end(), [&](auto a, auto b) {
      return Price(times, order.back(), a) < Price(times, order.back(), b);
    });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

// Turns stretches around as long as that makes the ring cheaper. True: it did.
bool Improve(const PairTimes& times, std::vector<std::uint32_t>& order) {
  const std::size_t size = order.size();
  bool improved = false;
  for (std::size_t i = 0; i + 2 < size; ++i) {
    for (std::size_t j = i + 2; j < size; ++j) {
      const std::uint32_t before = order[i];
      const std::uint32_t first = order[i + 1];
      const std::uint32_t last = order[j];
      const std::uint32_t after = order[(j + 1) % size];
      if (after == before) continue;
      const double now = Price(times, before, first) + Price(times, last, after);
      const double then = Price(times, before, last) + Price(times, first, after);
      if (then >= now * (1 - 1e-9)) continue;
      std::reverse(order.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   order.begin() + static_cast<std::ptrdiff_t>(j) + 1);
      improved = true;
    }
  }
  return improved;
}

// A time between near and far pairs; 0: there are no two kinds.
double Threshold(const PairTimes& times) {
  std::vector<double> sorted;
  for (std::size_t a = 0; a < times.size; ++a) {
    for (std::size_t b = a + 1; b < times.size; ++b) sorted.push_back(times.Between(a, b));
  }
  std::sort(sorted.begin(), sorted.end());
  double widest = 2;
  double threshold = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] < widest * sorted[i - 1] || sorted[i - 1] <= 0) continue;
    widest = sorted[i] / sorted[i - 1];
    threshold = std::sqrt(sorted[i] * sorted[i - 1]);
  }
  return threshold;
}

}  // namespace

double PairTimes::Between(std::size_t a, std::size_t b) const {
  return std::max(seconds[a * size + b], seconds[b * size + a]);
}

std::vector<std::uint32_t> RingOrder(const PairTimes& times) {
  SHOAL_CHECK_EQ(times.seconds.size(), times.size * times.size);
  if (times.size == 0) return {};
  constexpr int kRoundsMax = 30;  // Few are needed; the rest would be polish.
  std::vector<std::uint32_t> order = Greedy(times);
  for (int round = 0; round < kRoundsMax && Improve(times, order); ++round) {
  }
  return order;
}

std::vector<std::vector<std::uint32_t>> FindSwitches(const PairTimes& times) {
  SHOAL_CHECK_EQ(times.seconds.size(), times.size * times.size);
  const double threshold = Threshold(times);
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<bool> taken(times.size);
  for (std::uint32_t seed = 0; seed < times.size; ++seed) {
    if (taken[seed]) continue;
    std::vector<std::uint32_t> group = {seed};
    taken[seed] = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::uint32_t other = 0; other < times.size; ++other) {
        const bool near = threshold == 0 || times.Between(group[i], other) < threshold;
        if (taken[other] || !near) continue;
        taken[other] = true;
        group.push_back(other);
      }
    }
    std::sort(group.begin(), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace shoal::collective
