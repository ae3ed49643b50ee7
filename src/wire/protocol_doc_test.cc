// docs/protocol.md shows bytes; here the program is asked whether they are true.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "wire/batch.h"
#include "wire/control.h"
#include "wire/enrol.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/join_token.h"
#include "wire/piece.h"
#include "wire/send_queue.h"

namespace shoal::wire {
namespace {

std::string HexLine(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line = "   ";
  for (std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    line += {' ', kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return line + "\n";
}

std::string ProtocolPage() {
  std::ifstream file(std::string(SHOAL_SOURCE_DIR) + "/docs/protocol.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void ExpectQuoted(std::span<const std::byte> bytes) {
  EXPECT_NE(ProtocolPage().find(HexLine(bytes)), std::string::npos)
      << "docs/protocol.md does not show" << HexLine(bytes);
}

TEST(ProtocolPage, ShowsTheHello) {
  ExpectQuoted(EncodeHello(
      {.role = Role::kBulk, .from = NodeId{1}, .to = NodeId{2}, .session = 0x1122334455667788}));
}

TEST(ProtocolPage, ShowsTheSlicesOfAFrame) {
  SendQueue queue(Traffic::kControl);
  ASSERT_TRUE(
      queue.Push({std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}}).ok());
  for (int slice = 0; slice < 2; ++slice) {
    std::vector<std::byte> bytes;
    queue.TakeSlice(3, bytes);
    ExpectQuoted(bytes);
  }
}

TEST(ProtocolPage, ShowsTheAcknowledgementAndThePing) {
  std::vector<std::byte> ack;
  AppendFrame(Kind::kBulkAck, EncodeBulkAck(65'552), ack);
  ExpectQuoted(ack);
  std::vector<std::byte> ping;
  AppendFrame(Kind::kPing, {}, ping);
  ExpectQuoted(ping);
}

// first, first + 1, ...
template <std::size_t kSize>
std::array<std::byte, kSize> Counting(std::size_t first) {
  std::array<std::byte, kSize> bytes;
  for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

TEST(ProtocolPage, ShowsABatch) {
  ExpectQuoted(EncodeBatch({.to = NodeId{2},
                            .epoch = 0x500000001,
                            .arithmetic = 7,
                            .step = 3,
                            .stage = 0,
                            .last = 1,
                            .dim = 2,
                            .runs = {{.sequence = 9, .begin = 4, .count = 1, .wanted = 1}},
                            .over = {8},
                            .rows = {0x3c00, 0xc000}}));
}

TEST(ProtocolPage, ShowsAPiece) {
  ExpectQuoted(EncodePiece({.kind = Piece::Kind::kGet, .layer = Counting<32>(0), .chunk = 2}));
}

TEST(ProtocolPage, ShowsAControlMessage) {
  pb::ToHead message;
  message.set_ping(42);
  ExpectQuoted(Encode(message));
}

TEST(ProtocolPage, ShowsAnEnrolment) {
  ExpectQuoted(EncodeEnrolRequest({.secret = Counting<kJoinSecretBytes>(0),
                                   .protocol = kProtocolVersion,
                                   .is_64_bit = true,
                                   .public_key_pem = "K",
                                   .device_name = "a",
                                   .program_version = "1"}));
  ExpectQuoted(EncodeEnrolAnswer({.verdict = EnrolVerdict::kUsedToken,
                                  .protocol = kProtocolVersion,
                                  .program_version = "1",
                                  .node = {},
                                  .cluster_port = 0,
                                  .certificate_pem = {},
                                  .authority_pem = {}}));
}

TEST(ProtocolPage, ShowsTheJoinToken) {
  const std::string token =
      EncodeJoinToken({.authority = Counting<kAuthorityHashBytes>(0),
                       .secret = Counting<kJoinSecretBytes>(kAuthorityHashBytes)});
  EXPECT_NE(ProtocolPage().find("    " + token + "\n"), std::string::npos) << token;
}

}  // namespace
}  // namespace shoal::wire
