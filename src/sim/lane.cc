#include "sim/lane.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace shoal::sim {

void Lane::Put(Duration now, Traffic traffic, Frame frame, Duration delay) {
  Duration departs = now;
  if (nanoseconds_per_byte_ > 0) {
    const Duration length = WireTime(frame.size() + kFrameOverheadBytes);
    departs = Book(now, static_cast<std::size_t>(traffic), length);
  }
  Class& own = Of(traffic);
  own.waiting_bytes += CountedBytes(frame.size());
  own.flights.push_back({std::move(frame), departs, delay});
}

Duration Lane::Book(Duration now, std::size_t traffic, Duration length) {
  Duration start = std::max(now, classes_[traffic].busy_until);
  const Duration all_sent = classes_.back().busy_until;
  if (start == now && all_sent > now) {  // A less urgent class has the wire: finish its slice.
    start += std::min(all_sent - now, WireTime(kSliceBytes));
  }
  classes_[traffic].busy_until = start + length;
  for (std::size_t later = traffic + 1; later < kTrafficClasses; ++later) {
    Class& other = classes_[later];
    other.busy_until = std::max(other.busy_until, now) + length;
    for (std::size_t i = other.flights.size(); i > other.first; --i) {
      if (other.flights[i - 1].departs <= start) break;
      other.flights[i - 1].departs += length;
    }
  }
  return start + length;
}

Duration Lane::WireTime(std::size_t bytes) const {
  return Duration(static_cast<std::int64_t>(static_cast<double>(bytes) * nanoseconds_per_byte_));
}

Duration Lane::Arrival(Traffic traffic) const {
  const Class& own = Of(traffic);
  SHOAL_CHECK(!own.Empty());
  const Flight& flight = own.flights[own.first];
  return std::max(own.not_before, flight.departs + flight.delay);
}

Frame Lane::Take(Duration now, Traffic traffic) {
  Class& own = Of(traffic);
  SHOAL_CHECK(!own.Empty());
  Frame frame = std::move(own.flights[own.first].frame);
  own.waiting_bytes -= CountedBytes(frame.size());
  own.not_before = now;
  ++own.first;
  // Taken flights are removed many at a time, which makes a removal O(1) on average.
  if (own.Empty() || own.first >= 64 + own.flights.size() / 2) {
    own.flights.erase(own.flights.begin(),
                      own.flights.begin() + static_cast<std::ptrdiff_t>(own.first));
    own.first = 0;
  }
  return frame;
}

void Lane::DropUnsent(Duration now) {
  for (Class& own : classes_) {
    while (!own.Empty() && own.flights.back().departs > now) {
      own.waiting_bytes -= CountedBytes(own.flights.back().frame.size());
      own.flights.pop_back();
    }
    own.busy_until = std::min(own.busy_until, now);
  }
}

void Lane::Clear() {
  for (Class& own : classes_) own = Class{};
}

}  // namespace shoal::sim
