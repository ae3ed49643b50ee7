// Hello: the first 32 bytes each side sends on a connection. It says which
// protocol is spoken, who is speaking to whom, and which two connections belong
// together. The dialler speaks first; the acceptor answers with its verdict.
//
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/node_id.h"
#include "base/status.h"

namespace shoal::wire {

// Raised whenever an older program could misread a newer one. Nodes of different
// versions refuse each other: a cluster is updated as a whole.
inline constexpr std::uint16_t kProtocolVersion = 1;

// A pair of nodes has two connections, so that weights on their way to a phone
// never stand in front of a heartbeat in one TCP stream.
enum class Role : std::uint8_t {
  kMain = 0,  // Control and activations.
  kBulk = 1,  // Bulk.
};

// What the acceptor makes of the dialler's hello. A dialler always sends kWelcome.
enum class Verdict : std::uint8_t {
  kWelcome = 0,
  kYield = 1,      // Both dialled; the acceptor's own connection is the one to keep.
  kBusy = 2,       // The acceptor has as many peers as it may have.
  kWrongNode = 3,  // The acceptor is not the node in `to`, or the dialler not the one in `from`.
  kWrongVersion = 4,
  kUnknownSession = 5,  // A bulk connection without its main connection.
  kRevoked = 6,         // The dialler was evicted: its certificate is void.
};

std::string_view VerdictName(Verdict verdict);

struct Hello {
  Role role = Role::kMain;
  Verdict verdict = Verdict::kWelcome;
  NodeId from{};
  NodeId to{};
  std::uint64_t session = 0;  // Drawn by the dialler, the same on both connections.
  bool operator==(const Hello&) const = default;
};

inline constexpr std::size_t kHelloBytes = 32;
using HelloBytes = std::array<std::byte, kHelloBytes>;

HelloBytes EncodeHello(const Hello& hello);

// kCorruption: not a hello, the message names the field. kInvalidArgument: a hello of
// another protocol version, the message names both.
Result<Hello> DecodeHello(std::span<const std::byte, kHelloBytes> bytes);

}  // namespace shoal::wire
