#include "contract/sim_harness.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace shoal {
namespace {

// Lends its clock to the suite; apart from the ids that the suite counts up from 1.
constexpr NodeId kObserver{1'000'000};

// RunUntil asks after every event, and real networks have some all the time. Here nothing
// at all may happen for seconds, so something is made to.
constexpr Duration kTick = std::chrono::milliseconds(10);

// A node of the suite is its Network and nothing else: the suite speaks for it.
void AddSilentNode(sim::World& world, NodeId id) {
  world.AddNode(id, [](const sim::Surroundings&) { return std::make_unique<sim::Program>(); });
}

}  // namespace

SimHarness::SimHarness() : world_({.seed = 1}) {
  AddSilentNode(world_, kObserver);
  Tick();
}

void SimHarness::Tick() {
  clock().CallAfter(kTick, [this] { Tick(); });
}

Network& SimHarness::node(NodeId id) {
  const std::vector<NodeId>& known = world_.nodes();
  if (std::find(known.begin(), known.end(), id) == known.end()) AddSilentNode(world_, id);
  return world_.SurroundingsOf(id).network;
}

Clock& SimHarness::clock() { return world_.SurroundingsOf(kObserver).clock; }

std::string SimHarness::AddressOf(NodeId, NodeId to) {
  return "sim:" + std::to_string(ToNumber(to));
}

bool SimHarness::RunUntil(const std::function<bool()>& done, Duration limit) {
  return world_.RunUntil(done, limit);
}

void SimHarness::CutCable(NodeId a, NodeId b) {
  world_.CutCable(a, b);
  world_.CutCable(b, a);
}

void SimHarness::RepairCable(NodeId a, NodeId b) {
  world_.RepairCable(a, b);
  world_.RepairCable(b, a);
}

void SimHarness::Freeze(NodeId id) { world_.Freeze(id); }

void SimHarness::Thaw(NodeId id) { world_.Thaw(id); }

void SimHarness::LimitCable(NodeId a, NodeId b, double bits_per_second) {
  world_.LimitCable(a, b, bits_per_second);
}

NetworkUnderTest SimUnderTest() {
  return {"sim", [] { return std::make_unique<SimHarness>(); }};
}

}  // namespace shoal
