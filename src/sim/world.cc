#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "sim/sim_clock.h"
#include "sim/sim_executor.h"
#include "sim/sim_network.h"

namespace shoal::sim {
namespace {

// Streams of the world's seed. Nodes use (id, process) mixed, far from these.
constexpr std::uint64_t kLinksStream = 1;
constexpr std::uint64_t kFaultsStream = 2;
constexpr std::uint64_t kClocksStream = 3;

// Beyond a tenth a clock is not a clock.
constexpr double kDriftPpmMax = 100'000;
// Clocks start anywhere within their first day.
constexpr std::int64_t kOriginNanosecondsMax = std::int64_t{24} * 3600 * 1'000'000'000;

Random NodeRandom(std::uint64_t seed, NodeId id, std::uint64_t process) {
  return Random(seed, Avalanche(ToNumber(id)) + process);
}

ClockError DrawClockError(const WorldOptions& options, NodeId id) {
  if (options.faults.clock_drift_ppm_max <= 0) return {};
  Random random(options.seed, Avalanche(ToNumber(id)) ^ kClocksStream);
  const double ppm = std::min(options.faults.clock_drift_ppm_max, kDriftPpmMax);
  const auto limit = static_cast<std::int64_t>(ppm * 1000);
  return {.origin = Duration(random.Between(0, kOriginNanosecondsMax)),
          .drift_per_1e9 = random.Between(-limit, limit)};
}

}  // namespace

struct World::Node {
  Node(World& world, NodeId node_id, NodeIndex node_index, ProgramFactory node_factory,
       const PhoneModel& phone)
      : id(node_id),
        index(node_index),
        factory(std::move(node_factory)),
        clock(world.queue_, node_index, DrawClockError(world.options_, node_id)),
        network(world.links_, node_index),
        executor(world.queue_, node_index, phone),
        random(0) {}

  const NodeId id;
  const NodeIndex index;
  const ProgramFactory factory;
  SimClock clock;
  SimNetwork network;
  SimExecutor executor;
  Random random;
  std::uint64_t processes = 0;
  bool running = false;
  bool frozen = false;
  Wakefulness wakefulness;
  std::vector<Event> missed;  // While frozen, in order.
  std::unique_ptr<Program> program;
};

World::World(const WorldOptions& options)
    : options_(options),
      links_(queue_, trace_, options.link, Random(options.seed, kLinksStream)),
      fault_driver_(*this, queue_, options.faults, Random(options.seed, kFaultsStream)) {
  links_.SetFaults(options.faults);
}

World::~World() {
  trace_.SetTranscript({});
  // As in a crash: a dying program may call what is around it.
  for (const NodeId id : ids_) Crash(id, Death::kPowerLoss);
}

World::Node& World::Find(NodeId id) const {
  const NodeIndex index = links_.FindIndex(id);
  SHOAL_CHECK(index < nodes_.size() && nodes_[index] != nullptr);
  return *nodes_[index];
}

void World::AddNode(NodeId id, ProgramFactory factory, const PhoneModel& phone) {
  SHOAL_CHECK(id != NodeId{0});
  const NodeIndex index = links_.IndexOf(id);
  if (nodes_.size() <= index) nodes_.resize(index + std::size_t{1});
  SHOAL_CHECK(nodes_[index] == nullptr);
  nodes_[index] = std::make_unique<Node>(*this, id, index, std::move(factory), phone);
  ids_.push_back(id);
  Start(*nodes_[index]);
}

void World::Start(Node& node) {
  node.running = true;
  SetAwake(node, true);
  node.random = NodeRandom(options_.seed, node.id, node.processes++);
  links_.ProcessStarted(node.index);
  node.executor.Start();
  trace_.Add(now(), node.id, Happening::kStart);
  node.program = node.factory({node.id, node.clock, node.network, node.executor, node.random});
}

void World::Crash(NodeId id, Death how) {
  SHOAL_CHECK(!inside_program_);  // It would die under its own feet.
  Node& node = Find(id);
  if (!node.running) return;
  node.running = false;
  node.frozen = false;
  SetAwake(node, false);
  node.missed.clear();
  links_.ProcessDied(node.index, how);
  node.executor.DropAll();
  Note(id, Happening::kCrash, how == Death::kKilled ? "killed" : "lost power",
       static_cast<std::uint64_t>(how));
  node.program.reset();
  node.clock.DropAll();  // Last: the program's destructor may still set timers.
}

void World::Restart(NodeId id) {
  Node& node = Find(id);
  if (node.running) return;
  trace_.Say(now(), id, "started again");
  Start(node);
}

void World::Freeze(NodeId id) {
  Node& node = Find(id);
  if (!node.running || node.frozen) return;
  node.frozen = true;
  SetAwake(node, false);
  links_.SetFrozen(node.index, true);
  Note(id, Happening::kFreeze, "stands still");
}

void World::Thaw(NodeId id) {
  Node& node = Find(id);
  if (!node.frozen) return;
  node.frozen = false;
  SetAwake(node, true);
  for (const Event& event : std::exchange(node.missed, {})) queue_.Push(event);
  links_.SetFrozen(node.index, false);
  Note(id, Happening::kThaw, "goes on");
}

void World::SlowDown(NodeId id, double factor) {
  Node& node = Find(id);
  if (node.executor.slowdown() == factor) return;
  node.executor.SetSlowdown(factor);
  Note(id, Happening::kSlow, factor == 1 ? "is as fast as before" : "slows down",
       static_cast<std::uint64_t>(factor * 1000));
}

void World::Split(const std::vector<NodeId>& island) {
  std::vector<std::uint8_t> groups(nodes_.size());
  for (const NodeId id : island) groups[Find(id).index] = 1;
  split_ = true;
  const auto size = static_cast<std::uint64_t>(std::count(groups.begin(), groups.end(), 1));
  Note(NodeId{0}, Happening::kPartition, "cut off: " + std::to_string(size) + " nodes", size);
  links_.SetGroups(groups);
}

void World::Rejoin() {
  if (!split_) return;
  split_ = false;
  Note(NodeId{0}, Happening::kPartitionOver, "all nodes can reach each other again");
  links_.SetGroups({});
}

void World::CutCable(NodeId from, NodeId to) { links_.SetCut(from, to, true); }

void World::RepairCable(NodeId from, NodeId to) { links_.SetCut(from, to, false); }

void World::LimitCable(NodeId a, NodeId b, double bits_per_second) {
  links_.SetRate(a, b, bits_per_second);
}

void World::ResetOneLink(NodeId id, Random& random) {
  if (!links_.ResetOne(Find(id).index, random)) return;
  Note(id, Happening::kDisconnect, "a connection is reset");
}

void World::Heal() {
  fault_driver_.Stop();
  links_.SetFaults({});
  links_.RepairAllCables();
  Rejoin();
  Note(NodeId{0}, Happening::kHeal, "healed");
  for (const NodeId id : ids_) {
    SlowDown(id, 1);
    Thaw(id);
    Restart(id);
  }
}

void World::Note(NodeId id, Happening what, std::string_view text, std::uint64_t detail) {
  trace_.Add(now(), id, what, detail);
  trace_.Say(now(), id, text);
}

bool World::IsRunning(NodeId id) const { return Find(id).running; }

World::Wakefulness World::WakefulnessOf(NodeId id) const { return Find(id).wakefulness; }

void World::SetAwake(Node& node, bool awake) const {
  if (node.wakefulness.awake != awake) node.wakefulness = {awake, now()};
}

Surroundings World::SurroundingsOf(NodeId id) {
  Node& node = Find(id);
  return {id, node.clock, node.network, node.executor, node.random};
}

void World::RunFor(Duration span) {
  (void)RunUntil([] { return false; }, span);
}

bool World::RunUntil(const std::function<bool()>& done, Duration limit) {
  if (!faults_started_ && !ids_.empty()) {
    faults_started_ = true;
    fault_driver_.Start();
  }
  const Duration deadline = limit < Duration::max() - now() ? now() + limit : Duration::max();
  for (;;) {
    if (done()) return true;
    const Event* next = queue_.Peek();
    if (next == nullptr || next->at > deadline) break;
    Step();
  }
  queue_.AdvanceTo(deadline);
  return false;
}

void World::Step() {
  if (queue_.WantsSweep()) SweepQueue();
  const Event event = queue_.Pop();
  events_ += Dispatch(event) ? 1 : 0;
}

bool World::Dispatch(const Event& event) {
  if (event.node == kNoNode) {
    fault_driver_.Handle(event);
    return true;
  }
  Node* node = event.node < nodes_.size() ? nodes_[event.node].get() : nullptr;
  if (node != nullptr && node->frozen) {
    node->missed.push_back(event);
    return false;
  }
  inside_program_ = true;
  bool concerned_somebody = true;
  if (event.kind == EventKind::kTimer) {
    concerned_somebody = RunTimer(*node, event);
  } else if (event.kind == EventKind::kJobDone) {
    concerned_somebody = RunJob(*node, event);
  } else {
    links_.Handle(event);
  }
  inside_program_ = false;
  return concerned_somebody;
}

bool World::RunTimer(Node& node, const Event& event) {
  if (!node.clock.IsPending(event)) {
    queue_.ForgetStale();
    return false;
  }
  trace_.Add(now(), node.id, Happening::kTimer);
  node.clock.Fire(event);
  return true;
}

bool World::RunJob(Node& node, const Event& event) {
  if (!node.executor.IsCurrent(event)) return false;
  const JobTag tag = node.executor.NextDone();
  trace_.Add(now(), node.id, Happening::kJobDone, tag.step ^ Avalanche(tag.epoch));
  node.executor.Finish();
  return true;
}

void World::SweepQueue() {
  queue_.Sweep([this](const Event& event) {
    return event.kind == EventKind::kTimer && !nodes_[event.node]->clock.IsPending(event);
  });
}

}  // namespace shoal::sim
