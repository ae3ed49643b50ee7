// JoinToken: what a person carries from the head to a phone, as one line of text:
//
//   SHOAL1-8DV3QZ0K-7M2C4T6R-...   (seven groups of eight)
//
// It says which cluster the phone is to trust (the hash of its authority's certificate)
// and proves to that cluster that the phone was invited (a secret). 24 bits of checksum
// tell a typing mistake from a refusal, before anything is sent anywhere.
//
// The letters are Crockford's base 32: no I, L, O and U, either case, and dashes and
// spaces are ignored. Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::wire {

// The first half of the SHA-256 of the authority's certificate (DER). Half is enough: to
// pose as the head one needs a second certificate with the same 128 bits, which is 2^128
// tries; a collision of two certificates of one's own choice (2^64) helps nobody, because
// the token names the one that the head has made.
inline constexpr std::size_t kAuthorityHashBytes = 16;
using AuthorityHash = std::array<std::byte, kAuthorityHashBytes>;

// Random. 128 bits cannot be guessed, whatever the rate.
inline constexpr std::size_t kJoinSecretBytes = 16;
using JoinSecret = std::array<std::byte, kJoinSecretBytes>;

struct JoinToken {
  AuthorityHash authority{};
  JoinSecret secret{};
  bool operator==(const JoinToken&) const = default;
};

std::string EncodeJoinToken(const JoinToken& token);

// kInvalidArgument: the message says what is wrong, and never quotes the text: it may be
// a secret but for one letter.
Result<JoinToken> DecodeJoinToken(std::string_view text);

}  // namespace shoal::wire
