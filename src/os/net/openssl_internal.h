// OpenSSL, owned and reported the way this project owns and reports things.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::os {

template <auto Free>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <class T, auto Free>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree<Free>>;

using BioPtr = OpenSslPtr<BIO, BIO_free_all>;
using KeyPtr = OpenSslPtr<EVP_PKEY, EVP_PKEY_free>;
using CertificatePtr = OpenSslPtr<X509, X509_free>;
using SslContextPtr = OpenSslPtr<SSL_CTX, SSL_CTX_free>;
using SslPtr = OpenSslPtr<SSL, SSL_free>;

// Before the first use: no configuration file of the machine changes what we accept.
void InitOpenSsl();

// Takes the thread's error queue: "read certificate: no start line".
Status OpenSslError(Code code, std::string_view what);

// kInvalidArgument: not a PEM of that kind. The text is never quoted: it may be a key.
Result<CertificatePtr> ReadCertificate(const std::string& pem);
Result<KeyPtr> ReadPrivateKey(const std::string& pem);

}  // namespace shoal::os
