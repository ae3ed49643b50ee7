// World: a whole cluster in one thread. Virtual time, seeded network, modelled phones,
// and the production state machines on top. The same options give the same run, event
// for event, on every platform; trace_hash() says so.
//
//   World world({.seed = 42, .faults = {.frame_loss = 0.01}});
//   world.AddNode(NodeId{1}, [](const Surroundings& s) { return std::make_unique<Agent>(s…); });
//   world.RunFor(60s);                       // Phase one: things break. Check safety.
//   world.Heal();                            // Phase two: nothing breaks any more.
//   EXPECT_TRUE(world.RunUntil(all_is_well, 30s));   // Check liveness.
//
// A node's program lives as long as its process. A crash destroys it; nothing that it
// set, sent for or submitted runs afterwards; a restart builds a new one. A frozen
// program receives nothing; what was meant for it, timers included, comes when it
// thaws, in order. Programs must not touch the World or each other, only their own
// Surroundings, and take all their randomness from there.
//
// Belongs to one thread. Faults and Run are not called from inside a program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/network.h"
#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/fault_driver.h"
#include "sim/faults.h"
#include "sim/links.h"
#include "sim/models.h"
#include "sim/trace.h"

namespace shoal::sim {

// What a node has of the world: the seams of base/, alive for as long as the World.
// `random` starts afresh with every process.
struct Surroundings {
  NodeId self;
  Clock& clock;
  Network& network;
  Executor& executor;
  Random& random;
};

// A process: whatever the factory builds. When it dies its Network forgets what was
// attached; its destructor may call its Surroundings, to no effect.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;
};
using ProgramFactory = std::function<std::unique_ptr<Program>(const Surroundings&)>;

struct WorldOptions {
  std::uint64_t seed = 1;
  Faults faults{};
  LinkModel link{};
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Starts a node. REQUIRES: `id` is neither 0 nor a node yet.
  void AddNode(NodeId id, ProgramFactory factory, const PhoneModel& phone = {});
  const std::vector<NodeId>& nodes() const { return ids_; }

  // Lets `span` pass. Faults strike from the first call of this or RunUntil.
  void RunFor(Duration span);
  // Runs until `done` holds, which is asked before the first event and after each. False:
  // `limit` passed first.
  bool RunUntil(const std::function<bool()>& done, Duration limit);
  // Ends all faults: cables whole, dead nodes started, frozen ones thawed, slow ones
  // normal again. Clocks stay as they are, and so do rates set by LimitCable.
  void Heal();

  // The faults by hand. Doing to a node what it already is (dead, running, frozen, slow) does
  // nothing. REQUIRES, here and below: ids are of nodes.
  void Crash(NodeId id, Death how);
  void Restart(NodeId id);
  void Freeze(NodeId id);
  void Thaw(NodeId id);
  // Jobs that start from now on take `factor` times as long; 1 is normal.
  void SlowDown(NodeId id, double factor);
  // The nodes of `island` and all others cannot reach each other until Rejoin. A second
  // split replaces the first.
  void Split(const std::vector<NodeId>& island);
  void Rejoin();
  bool IsSplit() const { return split_; }
  // What `from` sends to `to` is swallowed. One way; cut both for a cable.
  void CutCable(NodeId from, NodeId to);
  void RepairCable(NodeId from, NodeId to);
  // Each way, for frames sent from now on; 0: not limited.
  void LimitCable(NodeId a, NodeId b, double bits_per_second);
  // Resets one connection of `id`, which `random` chooses, if it has one.
  void ResetOneLink(NodeId id, Random& random);

  Duration now() const { return queue_.now(); }
  bool IsRunning(NodeId id) const;
  // Whether its program can act (it runs and is not frozen), and since when that is so.
  struct Wakefulness {
    bool awake = false;
    Duration since{0};
  };
  Wakefulness WakefulnessOf(NodeId id) const;
  // The seams of a node, for tests that speak for it.
  Surroundings SurroundingsOf(NodeId id);

  std::uint64_t trace_hash() const { return trace_.hash(); }
  std::uint64_t count(Happening what) const { return trace_.count(what); }
  // Taken from the queue so far, cancelled timers and what frozen nodes missed not counted.
  std::uint64_t events() const { return events_; }
  // How many events are waiting, those that lost their subject included.
  std::size_t queue_size() const { return queue_.size(); }
  // Faults, one line each, go to `line` from now on: "[  1.204s] node 7: killed".
  void SetTranscript(Trace::Line line) { trace_.SetTranscript(std::move(line)); }
  // Adds a line, for those who watch the run.
  void Say(NodeId id, std::string_view text) const { trace_.Say(now(), id, text); }

 private:
  struct Node;

  Node& Find(NodeId id) const;
  void Start(Node& node);
  void SetAwake(Node& node, bool awake) const;
  void Step();
  bool Dispatch(const Event& event);
  bool RunTimer(Node& node, const Event& event);
  bool RunJob(Node& node, const Event& event);
  void SweepQueue();
  void Note(NodeId id, Happening what, std::string_view text, std::uint64_t detail = 0);

  const WorldOptions options_;
  EventQueue queue_;
  Trace trace_;
  Links links_;
  FaultDriver fault_driver_;
  bool faults_started_ = false;
  bool split_ = false;
  bool inside_program_ = false;
  std::uint64_t events_ = 0;
  std::vector<NodeId> ids_;                   // In the order of AddNode.
  std::vector<std::unique_ptr<Node>> nodes_;  // By NodeIndex; empty for ids only mentioned.
};

}  // namespace shoal::sim
