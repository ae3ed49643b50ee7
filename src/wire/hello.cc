#include "wire/hello.h"

#include <algorithm>
#include <string>

#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

// "SHOL". Every version's hello starts with these bytes and the version, and is at
// least kHelloBytes long, so that versions can name each other.
constexpr std::array<std::byte, 4> kMagic = {std::byte{'S'}, std::byte{'H'}, std::byte{'O'},
                                             std::byte{'L'}};
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kRoleAt = 6;
constexpr std::size_t kVerdictAt = 7;
constexpr std::size_t kFromAt = 8;
constexpr std::size_t kToAt = 16;
constexpr std::size_t kSessionAt = 24;
static_assert(kSessionAt + 8 == kHelloBytes);

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWelcome:
      return "welcome";
    case Verdict::kYield:
      return "yield to the connection dialled by the other side";
    case Verdict::kBusy:
      return "too many peers";
    case Verdict::kWrongNode:
      return "wrong node";
    case Verdict::kWrongVersion:
      return "wrong protocol version";
    case Verdict::kUnknownSession:
      return "unknown session";
    case Verdict::kRevoked:
      return "this node was evicted from the cluster";
  }
  return "unknown verdict";
}

HelloBytes EncodeHello(const Hello& hello) {
  HelloBytes bytes{};
  const std::span<std::byte> out(bytes);
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  StoreLittleEndian(kProtocolVersion, out.subspan(kVersionAt, 2));
  bytes[kRoleAt] = static_cast<std::byte>(hello.role);
  bytes[kVerdictAt] = static_cast<std::byte>(hello.verdict);
  StoreLittleEndian(ToNumber(hello.from), out.subspan(kFromAt, 8));
  StoreLittleEndian(ToNumber(hello.to), out.subspan(kToAt, 8));
  StoreLittleEndian(hello.session, out.subspan(kSessionAt, 8));
  return bytes;
}

Result<Hello> DecodeHello(std::span<const std::byte, kHelloBytes> bytes) {
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return Status(Code::kCorruption, "hello: magic is not SHOL, this is no shoal node");
  }
  const std::uint64_t version = LoadLittleEndian(bytes.subspan(kVersionAt, 2));
  if (version != kProtocolVersion) {
    return Status(Code::kInvalidArgument, "hello: peer speaks protocol version " +
                                              std::to_string(version) + ", this node speaks " +
                                              std::to_string(kProtocolVersion));
  }
  if (bytes[kRoleAt] > static_cast<std::byte>(Role::kBulk)) {
    return Status(Code::kCorruption, "hello: role is unknown");
  }
  if (bytes[kVerdictAt] > static_cast<std::byte>(Verdict::kRevoked)) {
    return Status(Code::kCorruption, "hello: verdict is unknown");
  }
  Hello hello;
  hello.role = static_cast<Role>(bytes[kRoleAt]);
  hello.verdict = static_cast<Verdict>(bytes[kVerdictAt]);
  hello.from = NodeId{LoadLittleEndian(bytes.subspan(kFromAt, 8))};
  hello.to = NodeId{LoadLittleEndian(bytes.subspan(kToAt, 8))};
  hello.session = LoadLittleEndian(bytes.subspan(kSessionAt, 8));
  return hello;
}

}  // namespace shoal::wire
