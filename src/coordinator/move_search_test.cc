// Goal: of all cuts about the cheapest is found, with what moves at its price, and quickly.
#include "coordinator/move_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "base/random.h"

namespace shoal::coordinator {
namespace {

using pipeline::Objective;
using pipeline::PlanCluster;
using pipeline::PlanModel;
using pipeline::PlanWish;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

constexpr std::uint64_t kMegabyte = 1'000'000;

PlanModel Model(std::size_t layers) {
  PlanModel model;
  model.layers.resize(layers);
  for (pipeline::LayerCost& layer : model.layers) layer.weight_bytes = kMegabyte;
  return model;
}

PlanCluster Cluster(const std::vector<double>& speeds, std::uint64_t room) {
  PlanCluster cluster;
  for (const double speed : speeds) {
    cluster.nodes.push_back(
        {.id = NodeId{cluster.nodes.size() + 2},
         .memory_bytes = room * kMegabyte,
         .speeds = {.weight_bytes_per_second = speed * 1e9, .operations_per_second = 1e12}});
  }
  return cluster;
}

std::vector<Seat> Seats(std::size_t nodes, bool may_be_empty) {
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < nodes; ++i) seats.push_back({NodeId{i + 2}, may_be_empty});
  return seats;
}

// All ways to give the layers from `first` on to the seats from `seat` on.
void ForAllCuts(const std::vector<Seat>& seats, std::int64_t layers, std::size_t seat,
                std::int64_t first, Stages& stages, const std::function<void(const Stages&)>& see) {
  if (seat == seats.size()) {
    if (first == layers) see(stages);
    return;
  }
  for (std::int64_t end = first + (seats[seat].may_be_empty ? 0 : 1); end <= layers; ++end) {
    if (end > first) stages.push_back({seats[seat].node, {first, end}});
    ForAllCuts(seats, layers, seat + 1, end, stages, see);
    if (end > first) stages.pop_back();
  }
}

TEST(MoveSearchTest, NothingCheaperIsThere) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const PlanModel model = Model(9);
    std::vector<double> speeds;
    for (int i = 0; i < 4; ++i) speeds.push_back(1 + static_cast<double>(random.Below(5)));
    const PlanCluster cluster = Cluster(speeds, 3 + random.Below(5));
    const PlanWish wish = {.objective = Objective::kThroughput, .users = 16, .replicas_max = 1};
    const Stages now = {{NodeId{2}, {0, 3}}, {NodeId{3}, {3, 6}}, {NodeId{4}, {6, 9}}};
    const MoveSearch search(model, cluster, wish, now, [](NodeId node, bool more) {
      return 0.01 * static_cast<double>(ToNumber(node)) * (more ? 2 : 1);
    });
    const std::vector<Seat> seats = Seats(4, round % 2 == 0);
    double least = std::numeric_limits<double>::infinity();
    Stages stages;
    ForAllCuts(seats, 9, 0, 0, stages,
               [&](const Stages& cut) { least = std::min(least, search.Price(cut).priced); });
    const PricedRoute best = search.Best(seats);
    if (!std::isfinite(least)) {
      EXPECT_TRUE(best.stages.empty());
      continue;
    }
    EXPECT_EQ(search.Price(best.stages).priced, best.priced);
    // The slowest stage is bounded in steps, and the shortest round is not always the cheapest.
    EXPECT_LE(best.priced, 1.08 * least) << "round " << round;
  }
}

TEST(MoveSearchTest, WhatIsGoodStays) {
  const PlanModel model = Model(12);
  const PlanCluster cluster = Cluster({1, 1, 1}, 12);
  const PlanWish wish = {.objective = Objective::kThroughput, .users = 16, .replicas_max = 1};
  const Stages now = {{NodeId{2}, {0, 4}}, {NodeId{3}, {4, 8}}, {NodeId{4}, {8, 12}}};
  const MoveSearch search(model, cluster, wish, now, [](NodeId, bool) { return 0.001; });
  EXPECT_EQ(search.Best(Seats(3, true)).stages, now);
}

TEST(MoveSearchTest, WhoMustStayDoes) {
  const PlanModel model = Model(12);
  const PlanCluster cluster = Cluster({1, 0.2, 1}, 12);
  const PlanWish wish = {.objective = Objective::kThroughput, .users = 16, .replicas_max = 1};
  const Stages now = {{NodeId{2}, {0, 4}}, {NodeId{3}, {4, 8}}, {NodeId{4}, {8, 12}}};
  const MoveSearch search(model, cluster, wish, now, [](NodeId node, bool more) {
    return node == NodeId{4} && more ? std::numeric_limits<double>::infinity() : 0.001;
  });
  const PricedRoute best = search.Best(Seats(3, false));
  ASSERT_EQ(best.stages.size(), 3U);
  EXPECT_EQ(best.stages[2], now[2]);
  EXPECT_GT(best.stages[0].range.size(), 4);
}

// A pipeline that is down waits for this.
TEST(MoveSearchTest, FortyNodesTakeMilliseconds) {
  const PlanModel model = Model(80);
  std::vector<double> speeds;
  for (int i = 0; i < 40; ++i) speeds.push_back(1 + 0.01 * i);
  const PlanCluster cluster = Cluster(speeds, 80);
  const PlanWish wish = {.objective = Objective::kThroughput, .users = 64, .replicas_max = 1};
  Stages now;
  for (std::int64_t i = 0; i < 40; ++i) {
    now.push_back({NodeId{static_cast<std::uint64_t>(i) + 2}, {2 * i, 2 * i + 2}});
  }
  PlanCluster left = cluster;
  left.nodes.erase(left.nodes.begin() + 7);
  std::vector<Seat> seats = Seats(40, false);
  seats.erase(seats.begin() + 7);
  const auto begin = std::chrono::steady_clock::now();
  const MoveSearch search(model, left, wish, now, [](NodeId, bool) { return 0.005; });
  EXPECT_FALSE(search.Best(seats).stages.empty());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  RecordProperty("milliseconds", std::to_string(1e3 * seconds));
  EXPECT_LT(seconds, 0.5) << "some milliseconds, on a machine that has nothing else to do";
}

}  // namespace
}  // namespace shoal::coordinator
