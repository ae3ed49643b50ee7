// Frames on the wire. After the hello, a connection is a sequence of slices: a
// 16-byte header and at most slice_bytes of one frame. A large frame is cut into
// several slices so that an urgent one need not wait for all of it; slices of one
// kind are in order, slices of different kinds interleave freely.
//
// Everything here is pure and bounded: no field a peer sends is believed before it
// is compared with its limit, and memory grows with the bytes that arrived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/network.h"
#include "base/status.h"
#include "wire/hello.h"

namespace shoal::wire {

enum class Kind : std::uint8_t {
  kControl = 0,  // The first three are Traffic's values.
  kActivations = 1,
  kBulk = 2,
  kBulkAck = 3,  // How many bytes of the bulk connection have arrived; 8 bytes.
  kPing = 4,     // "I am alive", when there is nothing else to say; empty.
};
inline constexpr std::size_t kKinds = 5;

constexpr Kind KindOf(Traffic traffic) { return static_cast<Kind>(traffic); }
// REQUIRES: kind is one of the first three.
constexpr Traffic TrafficOf(Kind kind) { return static_cast<Traffic>(kind); }
std::string_view KindName(Kind kind);

// The largest frame of this kind; all but the traffic classes have exactly this size.
std::size_t FrameBytesMax(Kind kind);

// Which kinds may come on a connection of this role.
bool Belongs(Kind kind, Role role);

struct SliceHeader {
  Kind kind = Kind::kPing;
  std::uint32_t frame_bytes = 0;  // Of the whole frame, the same in all its slices.
  std::uint32_t offset = 0;       // Of this slice in the frame.
  std::uint32_t slice_bytes = 0;  // That follow this header.
  bool operator==(const SliceHeader&) const = default;
};

inline constexpr std::size_t kSliceHeaderBytes = 16;
using SliceHeaderBytes = std::array<std::byte, kSliceHeaderBytes>;

SliceHeaderBytes EncodeSliceHeader(const SliceHeader& header);

// kCorruption: the message names the field that no correct peer sends.
Result<SliceHeader> DecodeSliceHeader(std::span<const std::byte, kSliceHeaderBytes> bytes);

using BulkAckBytes = std::array<std::byte, 8>;
BulkAckBytes EncodeBulkAck(std::uint64_t received_bytes);
// REQUIRES: frame has 8 bytes, as FrameDecoder guarantees for kBulkAck.
std::uint64_t DecodeBulkAck(const Frame& frame);

// Puts the slices of one connection together again, from byte chunks cut anywhere.
class FrameDecoder {
 public:
  struct Received {
    Kind kind = Kind::kPing;
    Frame frame;
  };

  explicit FrameDecoder(Role role) : role_(role) {}

  // Takes bytes off the front of `bytes`, up to the end of the first frame that is
  // complete, and returns it; nothing: all bytes were taken and more are needed.
  // After kCorruption the connection is lost: nothing later can be decoded.
  Result<std::optional<Received>> Next(std::span<const std::byte>& bytes);

  // How many bytes the whole slices of bulk add up to, with their headers: what is
  // acknowledged.
  std::uint64_t bulk_bytes() const { return bulk_bytes_; }

 private:
  Status BeginSlice();
  Received TakeFrame();

  Role role_;
  SliceHeaderBytes header_bytes_{};
  std::size_t header_filled_ = 0;
  SliceHeader slice_;
  std::size_t slice_missing_ = 0;  // Bytes of the current slice that have not arrived.
  std::uint64_t bulk_bytes_ = 0;

  // A frame of each kind that has begun and is not complete.
  struct Partial {
    bool begun = false;
    std::uint32_t frame_bytes = 0;
    Frame frame;
  };
  std::array<Partial, kKinds> partial_;
};

}  // namespace shoal::wire
