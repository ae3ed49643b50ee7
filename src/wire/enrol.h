// Enrolment: the two messages by which a phone becomes a member, inside TLS, where only
// the head has a certificate yet. The phone asks with the secret of its join token; the
// head answers with a certificate or says why not.
//
// Both begin with the same 8 bytes (docs/protocol.md), which say how long the rest is.
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "wire/join_token.h"

namespace shoal::wire {

inline constexpr std::uint16_t kEnrolVersion = 1;

inline constexpr std::size_t kEnrolHeaderBytes = 8;
// An Ed25519 key in PEM has 113 bytes, a certificate about 700.
inline constexpr std::size_t kPublicKeyBytesMax = 512;
inline constexpr std::size_t kCertificateBytesMax = 4096;
inline constexpr std::size_t kDeviceNameBytesMax = 64;
inline constexpr std::size_t kProgramVersionBytesMax = 32;
// Of what follows the header.
inline constexpr std::size_t kEnrolRequestBytesMax = 1024;
inline constexpr std::size_t kEnrolAnswerBytesMax = 10240;

struct EnrolRequest {
  JoinSecret secret{};
  std::uint16_t protocol = 0;  // kProtocolVersion of the asking program.
  bool is_64_bit = false;
  std::string public_key_pem;
  std::string device_name;      // For people.
  std::string program_version;  // For people.
  bool operator==(const EnrolRequest&) const = default;
};

enum class EnrolVerdict : std::uint8_t {
  kWelcome = 0,
  kUnknownToken = 1,
  kExpiredToken = 2,
  kUsedToken = 3,
  kTooManyAttempts = 4,  // From this address, with tokens that were refused.
  kWrongProtocol = 5,    // The phone's program does not speak what this cluster speaks.
  kNot64Bit = 6,
  kMalformed = 7,   // What the phone sent is not an enrolment request.
  kHeadFailed = 8,  // The head could not write the new member down.
};

struct EnrolAnswer {
  EnrolVerdict verdict = EnrolVerdict::kWelcome;
  std::uint16_t protocol = 0;   // kProtocolVersion of the head.
  std::string program_version;  // The head's.
  // With kWelcome only:
  NodeId node{};
  std::uint16_t cluster_port = 0;  // Where members dial, at the host that was asked.
  std::string certificate_pem;
  std::string authority_pem;
  bool operator==(const EnrolAnswer&) const = default;
};

// Header and body. REQUIRES: strings within the limits above.
std::vector<std::byte> EncodeEnrolRequest(const EnrolRequest& request);
std::vector<std::byte> EncodeEnrolAnswer(const EnrolAnswer& answer);

// How many bytes follow the header of a request or of an answer. kCorruption: it is none,
// or they are too many. kInvalidArgument: of another version.
using EnrolHeader = std::span<const std::byte, kEnrolHeaderBytes>;
Result<std::size_t> EnrolRequestBodyBytes(EnrolHeader header);
Result<std::size_t> EnrolAnswerBodyBytes(EnrolHeader header);

// What follows the header, all of it. kCorruption: the message names the field.
Result<EnrolRequest> DecodeEnrolRequest(std::span<const std::byte> body);
Result<EnrolAnswer> DecodeEnrolAnswer(std::span<const std::byte> body);

// What a phone's owner is told: what it means, and what to do. One line.
std::string ExplainVerdict(const EnrolAnswer& answer);

// UTF-8 without control characters: what may be shown on a terminal and written to a log.
bool IsPlainText(std::string_view text);

}  // namespace shoal::wire
