#include "collective/collective_frame.h"

#include <string>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::collective {
namespace {

// The lowest byte is the version.
constexpr std::uint64_t kMagic = 0xC0'53'48'4F'41'4C'00'01;

constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kEpochAt = 8;
constexpr std::size_t kElementsAt = 16;
constexpr std::size_t kBeginAt = 24;
constexpr std::size_t kEndAt = 32;
constexpr std::size_t kNumberAt = 40;
constexpr std::size_t kOpAt = 44;
constexpr std::size_t kWireAt = 45;
constexpr std::size_t kZeroAt = 46;

Status Bad(std::string_view field) {
  return {Code::kCorruption, "collective: bad " + std::string(field)};
}

}  // namespace

std::string_view OpName(Op op) {
  switch (op) {
    case Op::kBegun:
      return "nothing";
    case Op::kAllReduce:
      return "an all-reduce";
    case Op::kLargest:
      return "an all-reduce in F16";
    case Op::kReduce:
      return "a reduce";
    case Op::kBroadcast:
      return "a broadcast";
    case Op::kAllGather:
      return "an all-gather";
    case Op::kBarrier:
      return "a barrier";
  }
  return "";
}

void WriteHeader(const FrameHeader& header, Frame& frame) {
  SHOAL_CHECK_EQ(frame.size(), FrameBytes(header));
  const std::span<std::byte> bytes(frame);
  const auto put = [&](std::size_t at, std::size_t size, std::uint64_t value) {
    wire::StoreLittleEndian(value, bytes.subspan(at, size));
  };
  put(kMagicAt, 8, kMagic);
  put(kEpochAt, 8, header.epoch);
  put(kElementsAt, 8, header.elements);
  put(kBeginAt, 8, header.begin);
  put(kEndAt, 8, header.end);
  put(kNumberAt, 4, header.number);
  put(kOpAt, 1, static_cast<std::uint64_t>(header.op));
  put(kWireAt, 1, static_cast<std::uint64_t>(header.wire));
  put(kZeroAt, 2, 0);
}

Result<FrameHeader> ReadHeader(const Frame& frame) {
  if (frame.size() < kFrameHeaderBytes) return Bad("size");
  const std::span<const std::byte> bytes(frame);
  const auto get = [&](std::size_t at, std::size_t size) {
    return wire::LoadLittleEndian(bytes.subspan(at, size));
  };
  if (get(kMagicAt, 8) != kMagic) return Bad("magic");
  const std::uint64_t op = get(kOpAt, 1);
  const std::uint64_t wire = get(kWireAt, 1);
  if (op > static_cast<std::uint64_t>(Op::kBarrier)) return Bad("op");
  if (wire > static_cast<std::uint64_t>(WireType::kF16)) return Bad("wire type");
  if (get(kZeroAt, 2) != 0) return Bad("padding");
  const FrameHeader header = {.epoch = get(kEpochAt, 8),
                              .elements = get(kElementsAt, 8),
                              .begin = get(kBeginAt, 8),
                              .end = get(kEndAt, 8),
                              .number = static_cast<std::uint32_t>(get(kNumberAt, 4)),
                              .op = static_cast<Op>(op),
                              .wire = static_cast<WireType>(wire)};
  if (header.epoch == 0) return Bad("epoch");
  if (header.begin > header.end || header.end > header.elements) return Bad("range");
  if (header.end - header.begin > frame.size() || frame.size() != FrameBytes(header)) {
    return Bad("size");
  }
  if (header.op == Op::kBegun && header.elements != 0) return Bad("elements");
  return header;
}

std::uint64_t FrameEpoch(const Frame& frame) {
  const Result<FrameHeader> header = ReadHeader(frame);
  return header.ok() ? header->epoch : 0;
}

}  // namespace shoal::collective
