// The TLS context of a client of web servers.
#pragma once

#include <openssl/ssl.h>

#include "os/net/ca_files.h"

namespace shoal::os {

struct CaInternals {
  // Trusts these certificates and verifies every peer. Lives as long as `certificates`.
  static SSL_CTX* Context(const CaCertificates& certificates);
};

}  // namespace shoal::os
