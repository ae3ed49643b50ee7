// The messages of DNS (RFC 1035, RFC 3596), as far as finding the addresses of a host
// takes. Pure functions; an answer may be any bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal::os {

enum class DnsType : std::uint16_t { kA = 1, kAaaa = 28 };

struct DnsQuestion {
  std::uint16_t id = 0;  // Random: an answer without it is not believed.
  std::string name;      // "huggingface.co", a final dot or not.
  DnsType type = DnsType::kA;
};

// The address of a host: IPv4 in the first 4 bytes, or IPv6 in all 16.
struct DnsAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};
  bool operator==(const DnsAddress&) const = default;
};

// A resolver that answers over UDP without extensions sends at most this many bytes.
inline constexpr std::size_t kDnsBytesMax = 512;

// The query as one datagram. kInvalidArgument: not a name that a host can have.
Result<std::vector<std::byte>> EncodeDnsQuery(const DnsQuestion& question);

// The addresses in the answer to `question`, following aliases; may be none. Records that
// answer something else are not looked at. An answer that was cut short counts as far as it
// goes. kNotFound: there is no such name. kUnavailable: the server could not or would not
// say. kCorruption: not an answer to this question at all; the real one may still come.
Result<std::vector<DnsAddress>> ParseDnsAnswer(std::span<const std::byte> message,
                                               const DnsQuestion& question);

}  // namespace shoal::os
