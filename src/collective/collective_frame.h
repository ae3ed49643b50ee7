// The frames of collectives, which travel as Traffic::kActivations. All integers are little-endian.
//
//   0   8  magic      where a batch (wire/batch.h) has its destination: an id that no node has
//   8   8  epoch      not 0
//   16  8  elements   of the whole collective
//   24  8  begin      of the elements that follow
//   32  8  end
//   40  4  number     of the collective, from 0 in each epoch
//   44  1  op         Op
//   45  1  wire       WireType
//   46  2  0
//   48  …  the numbers
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/network.h"
#include "base/status.h"
#include "collective/communicator.h"

namespace shoal::collective {

enum class Op : std::uint8_t {
  kBegun,  // No message of a collective: the sender has begun this one and all before.
  kAllReduce,
  kLargest,  // What an all-reduce in F16 begins with.
  kReduce,
  kBroadcast,
  kAllGather,
  kBarrier,
};

// "an all-reduce" and so on.
std::string_view OpName(Op op);

struct FrameHeader {
  std::uint64_t epoch = 0;
  std::uint64_t elements = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t number = 0;
  Op op = Op::kBegun;
  WireType wire = WireType::kF32;
  bool operator==(const FrameHeader&) const = default;
};

// A multiple of 16, so that the numbers are aligned.
inline constexpr std::size_t kFrameHeaderBytes = 48;
// Of one message.
inline constexpr std::size_t kMessageElementsMax =
    (kActivationsFrameBytesMax - kFrameHeaderBytes) / sizeof(float);

constexpr std::size_t FrameBytes(const FrameHeader& header) {
  return kFrameHeaderBytes + static_cast<std::size_t>(header.end - header.begin) *
                                 (header.wire == WireType::kF16 ? 2 : 4);
}

// Into the first bytes of `frame`. REQUIRES: frame.size() == FrameBytes(header).
void WriteHeader(const FrameHeader& header, Frame& frame);
// kCorruption: no correct peer sends it. On success the frame has FrameBytes(header).
Result<FrameHeader> ReadHeader(const Frame& frame);

inline std::span<std::byte> PayloadOf(Frame& frame) {
  return std::span(frame).subspan(kFrameHeaderBytes);
}

}  // namespace shoal::collective
