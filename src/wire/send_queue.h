// SendQueue: the frames of one traffic class that wait for one peer. Bounded in
// bytes, and cut into slices at the last moment, when the connection can take
// them: until then a more urgent class can still go first.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "base/network.h"
#include "base/status.h"
#include "wire/frame.h"

namespace shoal::wire {

class SendQueue {
 public:
  explicit SendQueue(Traffic traffic) : traffic_(traffic) {}

  // kInvalidArgument: larger than FrameBytesMax. kResourceExhausted: more than
  // QueueBytesMax would wait; the frame was dropped and TakeWritable will tell.
  Status Push(Frame frame);

  bool empty() const { return frames_.empty(); }

  // Appends the next slice to `out`: a header and at most `slice_bytes_max` bytes.
  // REQUIRES: !empty(), slice_bytes_max > 0.
  void TakeSlice(std::size_t slice_bytes_max, std::vector<std::byte>& out);

  // True once after a refused Push, when at most half of the limit waits.
  bool TakeWritable();

 private:
  Traffic traffic_;
  std::deque<Frame> frames_;
  std::size_t offset_ = 0;  // Bytes of the first frame that have been taken.
  std::size_t waiting_bytes_ = 0;
  bool refused_ = false;
};

// Appends one whole frame of any kind, for those that are not queued.
void AppendFrame(Kind kind, std::span<const std::byte> payload, std::vector<std::byte>& out);

}  // namespace shoal::wire
