// FaultDriver: the hand that breaks things. Draws when which of the Faults strikes and
// whom, does it to its World, and undoes it later. It can do nothing that a test cannot
// do by hand. Belongs to one World.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/faults.h"

namespace shoal::sim {

class World;

enum class FaultKind : std::uint8_t { kDisconnect, kPartition, kCrash, kHang, kSlowdown };
inline constexpr std::size_t kFaultKinds = 5;

class FaultDriver {
 public:
  // `world` owns it; `queue` outlives it.
  FaultDriver(World& world, EventQueue& queue, const Faults& faults, const Random& random)
      : world_(world), queue_(queue), faults_(faults), random_(random) {}

  // Draws the first time of every kind. Nodes added later are hit too, and make faults
  // more frequent from the next one on. REQUIRES: the world has nodes.
  void Start();
  // Nothing strikes any more.
  void Stop() { stopped_ = true; }

  // Takes kFault and kRepair.
  void Handle(const Event& event);

 private:
  void ScheduleNext(FaultKind kind);
  void Strike(FaultKind kind);
  void ScheduleRepair(FaultKind kind, std::size_t victim, Duration mean);
  void Repair(FaultKind kind, std::size_t victim);
  void Split();
  double PerHour(FaultKind kind) const;
  Duration DrawDuration(Duration mean);

  World& world_;
  EventQueue& queue_;
  const Faults faults_;
  Random random_;
  bool stopped_ = false;
};

}  // namespace shoal::sim
