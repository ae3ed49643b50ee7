#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/check.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {
namespace {

// A certificate has about 1 KiB; nobody reads a gigabyte into a parser.
constexpr std::size_t kPemBytesMax = std::size_t{64} << 10;

BioPtr Reader(const std::string& text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  SHOAL_CHECK(bio != nullptr);
  return bio;
}

// Called for a passphrase. An encrypted key is refused instead of asking the terminal.
int NoPassphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*user*/) { return 0; }

}  // namespace

void InitOpenSsl() { OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

Status OpenSslError(Code code, std::string_view what) {
  const unsigned long error = ERR_peek_last_error();  // NOLINT: OpenSSL's type
  const char* reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return {code, std::string(what) + ": " + (reason != nullptr ? reason : "unknown error")};
}

Result<CertificatePtr> ReadCertificate(const std::string& pem) {
  InitOpenSsl();
  if (pem.size() > kPemBytesMax) return Status(Code::kInvalidArgument, "certificate is too long");
  CertificatePtr certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  if (certificate == nullptr) return OpenSslError(Code::kInvalidArgument, "read certificate");
  return certificate;
}

Result<KeyPtr> ReadPrivateKey(const std::string& pem) {
  InitOpenSsl();
  if (pem.size() > kPemBytesMax) return Status(Code::kInvalidArgument, "key is too long");
  KeyPtr key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return OpenSslError(Code::kInvalidArgument, "read private key");
  return key;
}

}  // namespace shoal::os
