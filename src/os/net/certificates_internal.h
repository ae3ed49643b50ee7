// What tls.cc needs of a certificate that a peer has shown.
#pragma once

#include <openssl/x509.h>

#include "base/node_id.h"
#include "base/status.h"

namespace shoal::os {

// The node in the common name, "node-7". kInvalidArgument: it names none.
Result<NodeId> NodeOf(X509* certificate);

}  // namespace shoal::os
