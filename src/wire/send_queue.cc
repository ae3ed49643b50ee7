#include "wire/send_queue.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"

namespace shoal::wire {
namespace {

// What a waiting frame costs at least, however small: its place in the queue and
// its allocation. Without it, empty frames would be free and the queue unbounded.
constexpr std::size_t kFrameCostMin = 64;

std::size_t Cost(const Frame& frame) { return std::max(frame.size(), kFrameCostMin); }

void Append(const SliceHeader& header, std::span<const std::byte> payload,
            std::vector<std::byte>& out) {
  const SliceHeaderBytes bytes = EncodeSliceHeader(header);
  out.insert(out.end(), bytes.begin(), bytes.end());
  out.insert(out.end(), payload.begin(), payload.end());
}

}  // namespace

Status SendQueue::Push(Frame frame) {
  if (frame.size() > shoal::FrameBytesMax(traffic_)) {
    return {Code::kInvalidArgument, std::string(KindName(KindOf(traffic_))) + " frame of " +
                                        std::to_string(frame.size()) + " bytes, the limit is " +
                                        std::to_string(shoal::FrameBytesMax(traffic_))};
  }
  if (waiting_bytes_ + Cost(frame) > QueueBytesMax(traffic_)) {
    refused_ = true;
    return {Code::kResourceExhausted, std::string(KindName(KindOf(traffic_))) + " queue is full: " +
                                          std::to_string(waiting_bytes_) + " bytes wait"};
  }
  waiting_bytes_ += Cost(frame);
  frames_.push_back(std::move(frame));
  return {};
}

void SendQueue::TakeSlice(std::size_t slice_bytes_max, std::vector<std::byte>& out) {
  SHOAL_CHECK(!frames_.empty());
  SHOAL_CHECK_GT(slice_bytes_max, 0U);
  const Frame& frame = frames_.front();
  const std::size_t n = std::min(slice_bytes_max, frame.size() - offset_);
  Append({.kind = KindOf(traffic_),
          .frame_bytes = static_cast<std::uint32_t>(frame.size()),
          .offset = static_cast<std::uint32_t>(offset_),
          .slice_bytes = static_cast<std::uint32_t>(n)},
         std::span(frame).subspan(offset_, n), out);
  offset_ += n;
  if (offset_ < frame.size()) return;
  waiting_bytes_ -= Cost(frame);
  offset_ = 0;
  frames_.pop_front();
}

bool SendQueue::TakeWritable() {
  if (!refused_ || waiting_bytes_ > QueueBytesMax(traffic_) / 2) return false;
  refused_ = false;
  return true;
}

void AppendFrame(Kind kind, std::span<const std::byte> payload, std::vector<std::byte>& out) {
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  Append({.kind = kind, .frame_bytes = bytes, .slice_bytes = bytes}, payload, out);
}

}  // namespace shoal::wire
