#include "os/net/tls.h"

#include <openssl/x509_vfy.h>

#include <utility>

#include "os/net/certificates_internal.h"
#include "os/net/openssl_internal.h"
#include "os/net/tls_internal.h"

namespace shoal::os {
namespace {

// A phone whose battery was empty may believe it is 1970. If it judged dates, it could
// never come back to its cluster; the coordinator, which has a clock, judges them.
constexpr unsigned long kVerifyFlags = X509_V_FLAG_NO_CHECK_TIME;  // NOLINT: OpenSSL's type

// Every phone with ARMv8 crypto instructions and every PC is fastest with the first.
constexpr const char* kCipherSuites =
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";

Result<SslContextPtr> MakeContext(X509* authority, X509* certificate, EVP_PKEY* key) {
  SHOAL_ASSIGN_OR_RETURN(SslContextPtr context, MakeTlsContext());
  SSL_CTX* ctx = context.get();
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), authority) != 1 ||
      SSL_CTX_add_client_CA(ctx, authority) != 1) {
    return OpenSslError(Code::kUnavailable, "make TLS context");
  }
  if (SSL_CTX_use_certificate(ctx, certificate) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1 ||
      SSL_CTX_check_private_key(ctx) != 1) {
    return OpenSslError(Code::kInvalidArgument, "node's certificate and key");
  }
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), kVerifyFlags);
  return context;
}

}  // namespace

Result<SslContextPtr> MakeTlsContext() {
  InitOpenSsl();
  SslContextPtr context(SSL_CTX_new(TLS_method()));
  SSL_CTX* ctx = context.get();
  if (ctx == nullptr || SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ctx, kCipherSuites) != 1 || SSL_CTX_set_num_tickets(ctx, 0) != 1) {
    return OpenSslError(Code::kUnavailable, "make TLS context");
  }
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  // An idle connection keeps no buffers: a coordinator has thousands of them.
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Status CheckSignedBy(X509* authority, X509* certificate) {
  const OpenSslPtr<X509_STORE, X509_STORE_free> store(X509_STORE_new());
  const OpenSslPtr<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr || X509_STORE_add_cert(store.get(), authority) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) != 1) {
    return OpenSslError(Code::kUnavailable, "verify certificate");
  }
  X509_STORE_CTX_set_flags(context.get(), kVerifyFlags);
  if (X509_verify_cert(context.get()) == 1) return {};
  return {Code::kInvalidArgument,
          std::string("node's certificate: ") +
              X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))};
}

struct TlsIdentity::Impl {
  SslContextPtr context;
  CertificatePtr authority;
};

TlsIdentity::TlsIdentity(NodeId node, std::unique_ptr<Impl> impl)
    : node_(node), impl_(std::move(impl)) {}
TlsIdentity::~TlsIdentity() = default;

Result<std::shared_ptr<const TlsIdentity>> TlsIdentity::Make(const std::string& authority_pem,
                                                             const std::string& certificate_pem,
                                                             const std::string& key_pem) {
  SHOAL_ASSIGN_OR_RETURN(CertificatePtr authority, ReadCertificate(authority_pem));
  SHOAL_ASSIGN_OR_RETURN(const CertificatePtr certificate, ReadCertificate(certificate_pem));
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr key, ReadPrivateKey(key_pem));
  SHOAL_ASSIGN_OR_RETURN(const NodeId node, NodeOf(certificate.get()));
  // Finds out at start what every peer would find out.
  SHOAL_RETURN_IF_ERROR(CheckSignedBy(authority.get(), certificate.get()));
  SHOAL_ASSIGN_OR_RETURN(SslContextPtr context,
                         MakeContext(authority.get(), certificate.get(), key.get()));
  auto impl = std::make_unique<Impl>(
      Impl{.context = std::move(context), .authority = std::move(authority)});
  return std::shared_ptr<const TlsIdentity>(new TlsIdentity(node, std::move(impl)));
}

SSL_CTX* TlsInternals::Context(const TlsIdentity& identity) {
  return identity.impl_->context.get();
}

X509* TlsInternals::Authority(const TlsIdentity& identity) {
  return identity.impl_->authority.get();
}

}  // namespace shoal::os
