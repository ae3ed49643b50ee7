// Event: something that will happen in a World, as a plain value of 32 bytes. Tasks,
// frames and jobs stay with whom they belong to, and the event only names them.
// EventHeap: events in order of time, and of insertion where times are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace shoal::sim {

// Who handles it, and what `subject`, `stamp` and `detail` then mean.
enum class EventKind : std::uint8_t {
  kTimer,         // SimClock: slot, generation, -.
  kJobDone,       // SimExecutor: -, process, -.
  kDial,          // Links: link, connection, -. A dial reaches `node`.
  kAnswer,        // Links: link, connection, -. The answer to a dial reaches the dialler.
  kDialFailed,    // Links: link, connection, Code.
  kDialDeadline,  // Links: link, connection, -.
  kFrame,         // Links: link, connection, Traffic. The first frame of a lane arrives.
  kWritable,      // Links: link, connection, Traffic.
  kReset,         // Links: link, connection, -. The other end has closed.
  kSilence,       // Links: link, silence, -. Nothing was heard for the whole limit.
  kFault,         // FaultDriver: -, -, FaultKind. Something breaks.
  kRepair,        // FaultDriver: whom it hit, -, FaultKind. It is over.
};

// A node's place in its World, in the order of first mention.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffff;

struct Event {
  Duration at{0};        // Since the world began.
  std::uint64_t id = 0;  // Given by Push: breaks ties in the order of insertion.
  NodeIndex node = kNoNode;
  std::uint32_t subject = 0;
  std::uint32_t stamp = 0;
  EventKind kind = EventKind::kTimer;
  std::uint8_t detail = 0;
  std::uint8_t end = 0;  // Which end of the link `node` is; Links only.
};
static_assert(sizeof(Event) == 32, "two events a cache line: the heap moves them all the time");

class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // REQUIRES, both: !empty().
  const Event& Top() const { return heap_.front(); }
  Event Pop();
  void Push(const Event& event);

  // Adds many at once, in linear time.
  void Append(const std::vector<Event>& events);
  template <class Condition>
  void RemoveIf(Condition condition) {
    std::erase_if(heap_, condition);
    Rebuild();
  }

 private:
  static constexpr std::size_t kWays = 4;  // Children of one entry: two cache lines.

  static bool Before(const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.id < b.id;
  }
  void SiftDown(std::size_t hole, const Event& event);
  void Rebuild();

  std::vector<Event> heap_;
};

}  // namespace shoal::sim
