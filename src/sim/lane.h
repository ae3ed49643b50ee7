// Lane: one direction of a cable. Says when a frame has left the sender and when it
// arrives, for three classes of which the more urgent goes first.
//
// The wire carries slices: a frame of an urgent class waits for the slice that is being
// sent, then overtakes the rest of the less urgent ones and delays them by its own
// length. That is what the real network achieves by handing bulk to the socket in small
// portions, and it is computed here without an event per slice: when a frame is put,
// the departure of every frame it overtakes moves back by its length, which is exact
// because the wire is never idle while a frame waits.
//
// The limit on what may wait is the caller's business. Belongs to one World.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/network.h"
#include "base/time.h"

namespace shoal::sim {

class Lane {
 public:
  // What a frame costs on the wire besides its bytes: headers of IP, TCP, TLS and our own.
  static constexpr std::size_t kFrameOverheadBytes = 96;
  // 13 ms at 10 Mb/s: small against the 100 ms that a control message may take there.
  static constexpr std::size_t kSliceBytes = std::size_t{16} << 10;

  // Applies to frames put from now on. 0: frames leave at once.
  void SetRate(double nanoseconds_per_byte) { nanoseconds_per_byte_ = nanoseconds_per_byte; }

  // Appends to its class; it arrives `delay` after its last byte has left.
  void Put(Duration now, Traffic traffic, Frame frame, Duration delay);

  bool empty(Traffic traffic) const { return Of(traffic).Empty(); }
  // Bytes put and not taken. A frame counts 64 at least, so that empty ones are bounded too.
  std::size_t waiting_bytes(Traffic traffic) const { return Of(traffic).waiting_bytes; }

  // When the first frame of this class arrives, as things stand: frames put later can
  // make it later, never earlier. REQUIRES: !empty(traffic).
  Duration Arrival(Traffic traffic) const;
  // Takes the first frame at time `now`; those behind it arrive no earlier.
  // REQUIRES: !empty(traffic).
  Frame Take(Duration now, Traffic traffic);

  // The sender is gone: frames that have not left by `now` never will.
  void DropUnsent(Duration now);
  // Everything is gone.
  void Clear();

  static std::size_t CountedBytes(std::size_t frame_bytes) {
    return frame_bytes < 64 ? 64 : frame_bytes;
  }

 private:
  struct Flight {
    Frame frame;
    Duration departs;
    Duration delay;
  };
  struct Class {
    std::vector<Flight> flights;  // Those before `first` are taken.
    std::size_t first = 0;
    std::size_t waiting_bytes = 0;
    Duration not_before{0};
    Duration busy_until{0};  // The wire serves this class or a more urgent one until then.

    bool Empty() const { return first == flights.size(); }
  };

  Class& Of(Traffic traffic) { return classes_[static_cast<std::size_t>(traffic)]; }
  const Class& Of(Traffic traffic) const { return classes_[static_cast<std::size_t>(traffic)]; }
  // Books the wire for a frame put at `now` and returns when its last byte has left.
  Duration Book(Duration now, std::size_t traffic, Duration length);
  Duration WireTime(std::size_t bytes) const;

  double nanoseconds_per_byte_ = 0;
  std::array<Class, kTrafficClasses> classes_;
};

}  // namespace shoal::sim
