// The OpenSSL context of a TlsIdentity, for the streams made from it.
#pragma once

#include "os/net/openssl_internal.h"
#include "os/net/tls.h"

namespace shoal::os {

struct TlsInternals {
  static SSL_CTX* Context(const TlsIdentity& identity);
};

}  // namespace shoal::os
