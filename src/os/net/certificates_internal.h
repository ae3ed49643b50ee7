// What the streams need of a certificate that a peer has shown.
#pragma once

#include <openssl/x509.h>

#include <cstdint>

#include "base/node_id.h"
#include "base/status.h"
#include "wire/join_token.h"

namespace shoal::os {

// The node in the common name, "node-7". kInvalidArgument: it names none.
Result<NodeId> NodeOf(X509* certificate);
// 0: larger than those we make, so not one of them.
std::uint64_t SerialOf(X509* certificate);
wire::AuthorityHash HashOf(X509* certificate);

}  // namespace shoal::os
