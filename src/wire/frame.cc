#include "wire/frame.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

// First byte of every slice. Not a version (the hello has it) but a tripwire: a
// sender and a receiver that have lost step notice at once.
constexpr std::byte kSliceMark{0xa7};
constexpr std::size_t kKindAt = 1;
constexpr std::size_t kReservedAt = 2;
constexpr std::size_t kFrameBytesAt = 4;
constexpr std::size_t kOffsetAt = 8;
constexpr std::size_t kSliceBytesAt = 12;
static_assert(kSliceBytesAt + 4 == kSliceHeaderBytes);

Status Corrupt(const SliceHeader& header, std::string_view field, const std::string& problem) {
  return {Code::kCorruption, "slice header: " + std::string(field) + " of a " +
                                 std::string(KindName(header.kind)) + " frame " + problem};
}

std::uint32_t LoadU32(std::span<const std::byte, kSliceHeaderBytes> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(LoadLittleEndian(bytes.subspan(at, 4)));
}

bool HasFixedSize(Kind kind) { return kind == Kind::kBulkAck || kind == Kind::kPing; }

Status CheckSizes(const SliceHeader& header) {
  const std::size_t limit = FrameBytesMax(header.kind);
  if (header.frame_bytes > limit || (HasFixedSize(header.kind) && header.frame_bytes != limit)) {
    return Corrupt(
        header, "frame_bytes",
        "is " + std::to_string(header.frame_bytes) + ", the limit is " + std::to_string(limit));
  }
  if (header.offset > header.frame_bytes) {
    return Corrupt(header, "offset", "lies behind its end");
  }
  if (header.slice_bytes > header.frame_bytes - header.offset) {
    return Corrupt(header, "slice_bytes", "reaches behind its end");
  }
  if (header.slice_bytes == 0 && header.frame_bytes != 0) {
    return Corrupt(header, "slice_bytes", "is 0");
  }
  return {};
}

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kControl:
      return "control";
    case Kind::kActivations:
      return "activations";
    case Kind::kBulk:
      return "bulk";
    case Kind::kBulkAck:
      return "bulk ack";
    case Kind::kPing:
      return "ping";
  }
  return "unknown";
}

std::size_t FrameBytesMax(Kind kind) {
  switch (kind) {
    case Kind::kControl:
    case Kind::kActivations:
    case Kind::kBulk:
      return shoal::FrameBytesMax(TrafficOf(kind));
    case Kind::kBulkAck:
      return sizeof(BulkAckBytes);
    case Kind::kPing:
      return 0;
  }
  return 0;
}

bool Belongs(Kind kind, Role role) {
  if (kind == Kind::kPing) return true;
  return (kind == Kind::kBulk) == (role == Role::kBulk);
}

SliceHeaderBytes EncodeSliceHeader(const SliceHeader& header) {
  SHOAL_CHECK(CheckSizes(header).ok());
  SliceHeaderBytes bytes{};
  const std::span<std::byte> out(bytes);
  bytes[0] = kSliceMark;
  bytes[kKindAt] = static_cast<std::byte>(header.kind);
  StoreLittleEndian(header.frame_bytes, out.subspan(kFrameBytesAt, 4));
  StoreLittleEndian(header.offset, out.subspan(kOffsetAt, 4));
  StoreLittleEndian(header.slice_bytes, out.subspan(kSliceBytesAt, 4));
  return bytes;
}

Result<SliceHeader> DecodeSliceHeader(std::span<const std::byte, kSliceHeaderBytes> bytes) {
  if (bytes[0] != kSliceMark) {
    return Status(Code::kCorruption, "slice header: mark is wrong, sender and receiver lost step");
  }
  if (std::to_integer<std::size_t>(bytes[kKindAt]) >= kKinds) {
    return Status(Code::kCorruption, "slice header: kind is unknown");
  }
  if (LoadLittleEndian(bytes.subspan(kReservedAt, 2)) != 0) {
    return Status(Code::kCorruption, "slice header: reserved bytes are not zero");
  }
  const SliceHeader header{.kind = static_cast<Kind>(bytes[kKindAt]),
                           .frame_bytes = LoadU32(bytes, kFrameBytesAt),
                           .offset = LoadU32(bytes, kOffsetAt),
                           .slice_bytes = LoadU32(bytes, kSliceBytesAt)};
  SHOAL_RETURN_IF_ERROR(CheckSizes(header));
  return header;
}

BulkAckBytes EncodeBulkAck(std::uint64_t received_bytes) {
  BulkAckBytes bytes{};
  StoreLittleEndian(received_bytes, bytes);
  return bytes;
}

std::uint64_t DecodeBulkAck(const Frame& frame) {
  SHOAL_CHECK_EQ(frame.size(), sizeof(BulkAckBytes));
  return LoadLittleEndian(frame);
}

Status FrameDecoder::BeginSlice() {
  SHOAL_ASSIGN_OR_RETURN(slice_, DecodeSliceHeader(header_bytes_));
  if (!Belongs(slice_.kind, role_)) {
    return {Code::kCorruption, "slice header: kind " + std::string(KindName(slice_.kind)) +
                                   " came on the wrong connection"};
  }
  Partial& partial = partial_[static_cast<std::size_t>(slice_.kind)];
  if (slice_.offset != partial.frame.size()) {
    return Corrupt(slice_, "offset",
                   "is " + std::to_string(slice_.offset) + " after " +
                       std::to_string(partial.frame.size()) + " bytes");
  }
  if (!partial.begun) {
    partial.begun = true;
    partial.frame_bytes = slice_.frame_bytes;
    // Address space for the whole frame, within its limit; pages come as bytes do.
    partial.frame.reserve(slice_.frame_bytes);
  } else if (slice_.frame_bytes != partial.frame_bytes) {
    return Corrupt(slice_, "frame_bytes", "changed between its slices");
  }
  slice_missing_ = slice_.slice_bytes;
  return {};
}

FrameDecoder::Received FrameDecoder::TakeFrame() {
  Partial& partial = partial_[static_cast<std::size_t>(slice_.kind)];
  Received received{.kind = slice_.kind, .frame = std::move(partial.frame)};
  partial = Partial();
  return received;
}

Result<std::optional<FrameDecoder::Received>> FrameDecoder::Next(
    std::span<const std::byte>& bytes) {
  while (!bytes.empty()) {
    if (header_filled_ < kSliceHeaderBytes) {
      const std::size_t n = std::min(bytes.size(), kSliceHeaderBytes - header_filled_);
      std::copy_n(bytes.begin(), n,
                  header_bytes_.begin() + static_cast<std::ptrdiff_t>(header_filled_));
      header_filled_ += n;
      bytes = bytes.subspan(n);
      if (header_filled_ < kSliceHeaderBytes) break;
      SHOAL_RETURN_IF_ERROR(BeginSlice());
    }
    Frame& frame = partial_[static_cast<std::size_t>(slice_.kind)].frame;
    const std::size_t n = std::min(bytes.size(), slice_missing_);
    frame.insert(frame.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    slice_missing_ -= n;
    if (slice_missing_ > 0) break;
    header_filled_ = 0;
    if (slice_.kind == Kind::kBulk) bulk_bytes_ += kSliceHeaderBytes + slice_.slice_bytes;
    if (frame.size() == slice_.frame_bytes) return std::optional(TakeFrame());
  }
  return std::optional<Received>();
}

}  // namespace shoal::wire
