#include "wire/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "wire/little_endian.h"
#include "wire/send_queue.h"

namespace shoal::wire {
namespace {

using Bytes = std::vector<std::byte>;

Frame Pattern(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Frame frame(size);
  for (std::byte& b : frame) b = static_cast<std::byte>(random.Below(256));
  return frame;
}

// Everything `decoder` makes of `bytes`.
Result<std::vector<FrameDecoder::Received>> DecodeAll(FrameDecoder& decoder,
                                                      std::span<const std::byte> bytes) {
  std::vector<FrameDecoder::Received> all;
  for (;;) {
    SHOAL_ASSIGN_OR_RETURN(auto received, decoder.Next(bytes));
    if (!received) return all;
    all.push_back(*std::move(received));
  }
}

// A header with arbitrary fields, as a hostile peer can make them.
Bytes RawHeader(std::uint64_t kind, std::uint64_t frame_bytes, std::uint64_t offset,
                std::uint64_t slice_bytes) {
  Bytes bytes(kSliceHeaderBytes);
  const std::span<std::byte> out(bytes);
  bytes[0] = std::byte{0xa7};
  StoreLittleEndian(kind, out.subspan(1, 1));
  StoreLittleEndian(frame_bytes, out.subspan(4, 4));
  StoreLittleEndian(offset, out.subspan(8, 4));
  StoreLittleEndian(slice_bytes, out.subspan(12, 4));
  return bytes;
}

std::string MessageFor(const Bytes& bytes, Role role = Role::kMain) {
  FrameDecoder decoder(role);
  const auto result = DecodeAll(decoder, bytes);
  if (result.ok()) return "ok";
  EXPECT_EQ(result.status().code(), Code::kCorruption);
  return std::string(result.status().message());
}

TEST(FrameDecoder, GivesBackFramesWhereverTheBytesAreCut) {
  SendQueue control(Traffic::kControl);
  SendQueue activations(Traffic::kActivations);
  const Frame small = Pattern(5, 1);
  const Frame large = Pattern(100'000, 2);
  ASSERT_TRUE(control.Push(small).ok());
  ASSERT_TRUE(control.Push(Frame()).ok());
  ASSERT_TRUE(activations.Push(large).ok());
  Bytes wire;
  activations.TakeSlice(40'000, wire);
  control.TakeSlice(3, wire);
  activations.TakeSlice(40'000, wire);
  control.TakeSlice(3, wire);
  control.TakeSlice(3, wire);
  AppendFrame(Kind::kPing, {}, wire);
  activations.TakeSlice(40'000, wire);

  for (std::size_t chunk : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, wire.size()}) {
    FrameDecoder decoder(Role::kMain);
    std::vector<FrameDecoder::Received> all;
    for (std::size_t at = 0; at < wire.size(); at += chunk) {
      auto some =
          DecodeAll(decoder, std::span(wire).subspan(at, std::min(chunk, wire.size() - at)));
      ASSERT_TRUE(some.ok()) << some.status().ToString();
      for (auto& received : *some) all.push_back(std::move(received));
    }
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].frame, small);
    EXPECT_TRUE(all[1].frame.empty());
    EXPECT_EQ(all[2].kind, Kind::kPing);
    EXPECT_EQ(all[3].frame, large);
    EXPECT_EQ(decoder.bulk_bytes(), 0U);
  }
}

TEST(FrameDecoder, CountsWholeSlicesOfBulk) {
  Bytes wire;
  AppendFrame(Kind::kBulk, Pattern(100, 3), wire);
  AppendFrame(Kind::kPing, {}, wire);
  FrameDecoder decoder(Role::kBulk);
  ASSERT_TRUE(DecodeAll(decoder, std::span(wire).first(115)).ok());
  EXPECT_EQ(decoder.bulk_bytes(), 0U);
  ASSERT_TRUE(DecodeAll(decoder, std::span(wire).subspan(115)).ok());
  EXPECT_EQ(decoder.bulk_bytes(), 116U);
}

TEST(FrameDecoder, NamesTheFieldThatIsWrong) {
  Bytes mark = RawHeader(0, 1, 0, 1);
  mark[0] = std::byte{0};
  EXPECT_NE(MessageFor(mark).find("mark"), std::string::npos);
  Bytes reserved = RawHeader(0, 1, 0, 1);
  reserved[3] = std::byte{1};
  EXPECT_NE(MessageFor(reserved).find("reserved"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(kKinds, 0, 0, 0)).find("kind is unknown"), std::string::npos);
  EXPECT_EQ(MessageFor(RawHeader(0, kControlFrameBytesMax + 1, 0, 1)),
            "slice header: frame_bytes of a control frame is 262145, the limit is 262144");
  EXPECT_NE(MessageFor(RawHeader(1, 0xffffffff, 0, 1)).find("frame_bytes"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(4, 1, 0, 1)).find("frame_bytes"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(3, 7, 0, 7)).find("frame_bytes"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 8, 9, 1)).find("offset"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 8, 4, 5)).find("slice_bytes"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 8, 0xffffffff, 0xffffffff)).find("offset"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 8, 0, 0)).find("slice_bytes"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 8, 4, 4)).find("offset"), std::string::npos);
}

TEST(FrameDecoder, RefusesAFrameWhoseSizeChanges) {
  Bytes wire = RawHeader(0, 8, 0, 4);
  wire.resize(wire.size() + 4);
  const Bytes second = RawHeader(0, 9, 4, 5);
  wire.insert(wire.end(), second.begin(), second.end());
  EXPECT_NE(MessageFor(wire).find("changed"), std::string::npos);
}

TEST(FrameDecoder, RefusesKindsOfTheOtherConnection) {
  EXPECT_NE(MessageFor(RawHeader(2, 1, 0, 1), Role::kMain).find("bulk"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(0, 1, 0, 1), Role::kBulk).find("control"), std::string::npos);
  EXPECT_NE(MessageFor(RawHeader(3, 8, 0, 8), Role::kBulk).find("bulk ack"), std::string::npos);
  EXPECT_EQ(MessageFor(RawHeader(4, 0, 0, 0), Role::kMain), "ok");
  EXPECT_EQ(MessageFor(RawHeader(4, 0, 0, 0), Role::kBulk), "ok");
}

TEST(BulkAck, DecodesWhatWasEncoded) {
  const BulkAckBytes bytes = EncodeBulkAck(0x123456789abcdef0);
  EXPECT_EQ(DecodeBulkAck(Frame(bytes.begin(), bytes.end())), 0x123456789abcdef0U);
}

}  // namespace
}  // namespace shoal::wire
