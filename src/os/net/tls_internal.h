// The OpenSSL context of a TlsIdentity, for the streams made from it.
#pragma once

#include "os/net/openssl_internal.h"
#include "os/net/tls.h"

namespace shoal::os {

struct TlsInternals {
  static SSL_CTX* Context(const TlsIdentity& identity);
  static X509* Authority(const TlsIdentity& identity);
};

// For TLS 1.3 and nothing older, without resumption; nobody is verified yet.
Result<SslContextPtr> MakeTlsContext();

// kInvalidArgument: `certificate` was not signed by `authority`. Dates do not count.
Status CheckSignedBy(X509* authority, X509* certificate);

}  // namespace shoal::os
