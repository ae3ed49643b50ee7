// Who belongs to the cluster. The coordinator holds an authority: a key that signs
// certificates. A phone makes a key of its own, which never leaves it, and gets a
// certificate that says "node-7" for the public half.
//
// Everything is Ed25519 and PEM text. Thread-safe: functions of their arguments and of
// the system's random numbers and time.
//
// The dates in a certificate are the coordinator's; a phone's clock is often wrong by
// years after an empty battery, so phones do not judge them (tls.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/node_id.h"
#include "base/status.h"
#include "wire/join_token.h"

namespace shoal::os {

struct Authority {
  std::string certificate_pem;  // Public: every node trusts what it signed.
  std::string key_pem;          // Secret: whoever has it can make nodes.
};

struct NodeCertificate {
  std::string certificate_pem;
  std::uint64_t serial = 0;  // Random; names this certificate when it is to be revoked.
};

// A new cluster's authority, valid for kAuthorityDays.
Result<Authority> MakeAuthority(const std::string& cluster_name);

// A new private key, and the public half of one.
Result<std::string> MakePrivateKey();
Result<std::string> PublicKeyOf(const std::string& private_key_pem);

// Signs that the holder of `public_key_pem` is `node`, for kNodeDays from now.
// kInvalidArgument: a PEM is not what it should be, the key is not Ed25519, or the
// authority's halves differ.
Result<NodeCertificate> IssueCertificate(const Authority& authority, NodeId node,
                                         const std::string& public_key_pem);

// kInvalidArgument: the key is not the one of the certificate, or one of them is no PEM.
Status CheckAuthority(const Authority& authority);

// By what join tokens know an authority (wire/join_token.h).
Result<wire::AuthorityHash> HashOfAuthority(const std::string& certificate_pem);

// Whom a certificate names. Says nothing about who signed it.
Result<NodeId> NodeOfCertificate(const std::string& certificate_pem);

// A cluster outlives its phones; a phone's certificate is renewed while it is a member.
inline constexpr int kAuthorityDays = 20 * 365;
inline constexpr int kNodeDays = 2 * 365;

}  // namespace shoal::os
