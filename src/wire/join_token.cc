#include "wire/join_token.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace shoal::wire {
namespace {

constexpr std::string_view kPrefix = "SHOAL";
constexpr char kVersion = '1';
constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kChecksumBytes = 3;
constexpr std::size_t kBytes = kAuthorityHashBytes + kJoinSecretBytes + kChecksumBytes;
constexpr unsigned kBitsPerLetter = 5;
constexpr std::size_t kTokenLetters = kBytes * 8 / kBitsPerLetter;
static_assert(kTokenLetters * kBitsPerLetter == kBytes * 8, "no bits are left over");
constexpr std::size_t kGroupLetters = 8;

using TokenBytes = std::array<std::byte, kBytes>;

// CRC-24 as in OpenPGP: finds every change of up to 24 neighbouring bits, so every wrong
// letter and every two letters that changed places.
std::uint32_t Checksum(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kStart = 0xb704ce;
  constexpr std::uint32_t kPolynomial = 0x1864cfb;
  constexpr std::uint32_t kOverflow = 0x1000000;
  std::uint32_t crc = kStart;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte) << 16U;
    for (int bit = 0; bit < 8; ++bit) {
      crc <<= 1U;
      if ((crc & kOverflow) != 0) crc ^= kPolynomial;
    }
  }
  return crc;
}

std::array<std::byte, kChecksumBytes> ChecksumBytes(std::span<const std::byte> bytes) {
  const std::uint32_t crc = Checksum(bytes);
  return {static_cast<std::byte>(crc >> 16U & 0xffU), static_cast<std::byte>(crc >> 8U & 0xffU),
          static_cast<std::byte>(crc & 0xffU)};
}

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// The value of a letter, and of those that people write for it.
std::optional<std::uint32_t> ValueOf(char c) {
  c = Upper(c);
  if (c == 'O') c = '0';
  if (c == 'I' || c == 'L') c = '1';
  const std::size_t at = kLetters.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(at);
}

Status Wrong(const std::string& problem) {
  return {Code::kInvalidArgument, "this is not a whole join token: " + problem +
                                      "; copy the line that `shoal token` printed on the head"};
}

// What follows "SHOAL1".
Result<std::string_view> AfterPrefix(std::string_view text) {
  const bool ours = text.size() > kPrefix.size() &&
                    std::equal(kPrefix.begin(), kPrefix.end(), text.begin(),
                               [](char want, char got) { return want == Upper(got); });
  if (!ours) return Wrong("it does not begin with SHOAL1-");
  if (text[kPrefix.size()] != kVersion) {
    return Status(Code::kInvalidArgument,
                  "this join token is of another version than this program understands; "
                  "put the same version of shoal on both devices");
  }
  return text.substr(kPrefix.size() + 1);
}

Result<TokenBytes> DecodeLetters(std::string_view letters) {
  TokenBytes bytes{};
  std::size_t count = 0;
  std::uint32_t pending = 0;
  for (const char c : letters) {
    if (c == '-' || c == ' ') continue;
    const std::optional<std::uint32_t> value = ValueOf(c);
    if (!value) return Wrong("it has a character that no token has");
    if (count == kTokenLetters) return Wrong("it is too long");
    pending = (pending << kBitsPerLetter) | *value;
    // 8 letters are 5 bytes, 3 letters 15 bits: a byte is whole when its last bit is there.
    const std::size_t bits_before = count * kBitsPerLetter;
    ++count;
    const std::size_t bits = count * kBitsPerLetter;
    if (bits / 8 > bits_before / 8)
      bytes[bits / 8 - 1] = static_cast<std::byte>(pending >> bits % 8);
  }
  if (count < kTokenLetters) {
    return Wrong("it has " + std::to_string(count) + " of " + std::to_string(kTokenLetters) +
                 " letters");
  }
  return bytes;
}

}  // namespace

std::string EncodeJoinToken(const JoinToken& token) {
  TokenBytes bytes{};
  auto at = std::copy(token.authority.begin(), token.authority.end(), bytes.begin());
  at = std::copy(token.secret.begin(), token.secret.end(), at);
  const auto sum = ChecksumBytes(std::span(bytes).first(kBytes - kChecksumBytes));
  std::copy(sum.begin(), sum.end(), at);

  std::string text = std::string(kPrefix) + kVersion;
  std::uint32_t pending = 0;
  unsigned bits = 0;
  std::size_t letters = 0;
  for (const std::byte byte : bytes) {
    pending = (pending << 8U | std::to_integer<std::uint32_t>(byte)) & 0xffffU;
    bits += 8;
    while (bits >= kBitsPerLetter) {
      bits -= kBitsPerLetter;
      if (letters++ % kGroupLetters == 0) text += '-';
      text += kLetters[pending >> bits & 31U];
    }
  }
  return text;
}

Result<JoinToken> DecodeJoinToken(std::string_view text) {
  SHOAL_ASSIGN_OR_RETURN(const std::string_view letters, AfterPrefix(text));
  SHOAL_ASSIGN_OR_RETURN(const TokenBytes bytes, DecodeLetters(letters));
  const std::span<const std::byte> payload = std::span(bytes).first(kBytes - kChecksumBytes);
  const auto sum = ChecksumBytes(payload);
  if (!std::equal(sum.begin(), sum.end(), bytes.end() - kChecksumBytes)) {
    return Wrong("a letter is wrong or missing");
  }
  JoinToken token;
  std::copy_n(payload.begin(), kAuthorityHashBytes, token.authority.begin());
  std::copy_n(payload.begin() + kAuthorityHashBytes, kJoinSecretBytes, token.secret.begin());
  return token;
}

}  // namespace shoal::wire
