#include "os/net/ca_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <utility>

#include "os/file.h"
#include "os/net/ca_files_internal.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {
namespace {

// Mozilla's list has 230 KiB.
constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

// Adds the certificates in `pem`, which may be between other text; how many there were.
int AddCertificates(X509_STORE* store, const std::string& pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (bio == nullptr) return 0;
  int count = 0;
  std::size_t left = BIO_ctrl_pending(bio.get());
  for (;;) {
    const CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate != nullptr && X509_STORE_add_cert(store, certificate.get()) == 1) ++count;
    // One that is broken does not take the rest with it.
    if (BIO_ctrl_pending(bio.get()) == left) break;
    left = BIO_ctrl_pending(bio.get());
  }
  ERR_clear_error();
  return count;
}

int AddPath(X509_STORE* store, const std::string& path) {
  if (const auto pem = ReadFile(path, kFileBytesMax); pem.ok()) return AddCertificates(store, *pem);
  const auto names = ListDirectory(path);
  if (!names.ok()) return 0;
  int count = 0;
  for (const std::string& name : *names) {
    const auto pem = ReadFile(path + "/" + name, kFileBytesMax);
    if (pem.ok()) count += AddCertificates(store, *pem);
  }
  return count;
}

Result<SslContextPtr> MakeContext() {
  InitOpenSsl();
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return OpenSslError(Code::kUnavailable, "make TLS context");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

}  // namespace

struct CaCertificates::Impl {
  SslContextPtr context;
};

CaCertificates::CaCertificates(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CaCertificates::~CaCertificates() = default;

Result<std::shared_ptr<const CaCertificates>> CaCertificates::Load(const std::string& path) {
  return LoadFirst({path});
}

Result<std::shared_ptr<const CaCertificates>> CaCertificates::LoadFirst(
    const std::vector<std::string>& paths) {
  SHOAL_ASSIGN_OR_RETURN(SslContextPtr context, MakeContext());
  std::string looked;
  for (const std::string& path : paths) {
    if (AddPath(SSL_CTX_get_cert_store(context.get()), path) > 0) {
      auto impl = std::make_unique<Impl>(Impl{.context = std::move(context)});
      return std::shared_ptr<const CaCertificates>(new CaCertificates(std::move(impl)));
    }
    looked += (looked.empty() ? "" : ", ") + path;
  }
  return Status(Code::kNotFound, "no certificates of authorities in " + looked);
}

SSL_CTX* CaInternals::Context(const CaCertificates& certificates) {
  return certificates.impl_->context.get();
}

std::vector<std::string> CaPaths(const std::string& ssl_cert_file, const std::string& prefix) {
  std::vector<std::string> paths;
  if (!ssl_cert_file.empty()) paths.push_back(ssl_cert_file);
  if (!prefix.empty()) paths.push_back(prefix + "/etc/tls/cert.pem");
  for (const char* path : {
           "/etc/ssl/certs/ca-certificates.crt",   // Debian, Ubuntu, Arch.
           "/etc/pki/tls/certs/ca-bundle.crt",     // Fedora.
           "/etc/ssl/cert.pem",                    // Alpine.
           "/apex/com.android.conscrypt/cacerts",  // Android 14 and later.
           "/system/etc/security/cacerts",         // Android.
       }) {
    paths.emplace_back(path);
  }
  return paths;
}

}  // namespace shoal::os
