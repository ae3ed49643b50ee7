#include "os/net/certificates.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "os/net/certificates_internal.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {
namespace {

constexpr std::string_view kNodePrefix = "node-";

Result<KeyPtr> MakeKey() {
  InitOpenSsl();
  KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) return OpenSslError(Code::kUnavailable, "make key");
  return key;
}

// The text that `write` puts into a memory buffer.
template <class Write>
Result<std::string> ToPem(Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return OpenSslError(Code::kUnavailable, "write PEM");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> PrivateKeyPem(EVP_PKEY* key) {
  return ToPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Result<KeyPtr> ReadPublicKey(const std::string& pem) {
  InitOpenSsl();
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  if (key == nullptr) return OpenSslError(Code::kInvalidArgument, "read public key");
  if (EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    return Status(Code::kInvalidArgument, "public key is not Ed25519");
  }
  return key;
}

// 63 bits: positive in ASN.1, and never 0.
Result<std::uint64_t> RandomSerial() {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) {
    return OpenSslError(Code::kUnavailable, "random serial number");
  }
  return (serial >> 1U) | 1U;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpenSslPtr<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetCommonName(X509_NAME* name, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

struct Subject {
  std::string common_name;
  std::uint64_t serial = 0;
  int days = 0;
  bool may_sign = false;
};

// Signs `subject` and `key` with `issuer_key`. A null `issuer`: it signs itself.
Result<CertificatePtr> Sign(const Subject& subject, EVP_PKEY* key, X509* issuer,
                            EVP_PKEY* issuer_key) {
  // The head's own clock may be years ahead, and be put right later: what it made until then stays
  // good.
  constexpr int kDaysEarly = 10 * 365;
  CertificatePtr certificate(X509_new());
  X509* x = certificate.get();
  const bool filled =
      x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), subject.serial) == 1 &&
      X509_time_adj_ex(X509_getm_notBefore(x), -kDaysEarly, 0, nullptr) != nullptr &&
      X509_time_adj_ex(X509_getm_notAfter(x), subject.days, 0, nullptr) != nullptr &&
      SetCommonName(X509_get_subject_name(x), subject.common_name) &&
      X509_set_issuer_name(x, X509_get_subject_name(issuer != nullptr ? issuer : x)) == 1 &&
      X509_set_pubkey(x, key) == 1 &&
      AddExtension(x, issuer != nullptr ? issuer : x, NID_basic_constraints,
                   subject.may_sign ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
      AddExtension(x, issuer != nullptr ? issuer : x, NID_key_usage,
                   subject.may_sign ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (!filled) return OpenSslError(Code::kInvalidArgument, "fill in certificate");
  // Ed25519 hashes by itself: no digest is named.
  if (X509_sign(x, issuer_key, nullptr) == 0) {
    return OpenSslError(Code::kInvalidArgument, "sign certificate");
  }
  return certificate;
}

}  // namespace

Result<Authority> MakeAuthority(const std::string& cluster_name) {
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr key, MakeKey());
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t serial, RandomSerial());
  SHOAL_ASSIGN_OR_RETURN(
      const CertificatePtr certificate,
      Sign(
          {.common_name = cluster_name, .serial = serial, .days = kAuthorityDays, .may_sign = true},
          key.get(), nullptr, key.get()));
  Authority authority;
  SHOAL_ASSIGN_OR_RETURN(authority.certificate_pem, ToPem([&](BIO* bio) {
                           return PEM_write_bio_X509(bio, certificate.get());
                         }));
  SHOAL_ASSIGN_OR_RETURN(authority.key_pem, PrivateKeyPem(key.get()));
  return authority;
}

Result<std::string> MakePrivateKey() {
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr key, MakeKey());
  return PrivateKeyPem(key.get());
}

Result<std::string> PublicKeyOf(const std::string& private_key_pem) {
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr key, ReadPrivateKey(private_key_pem));
  return ToPem([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key.get()); });
}

Status CheckAuthority(const Authority& authority) {
  SHOAL_ASSIGN_OR_RETURN(const CertificatePtr issuer, ReadCertificate(authority.certificate_pem));
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr issuer_key, ReadPrivateKey(authority.key_pem));
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    return OpenSslError(Code::kInvalidArgument, "authority's key and certificate differ");
  }
  return {};
}

Result<NodeCertificate> IssueCertificate(const Authority& authority, NodeId node,
                                         const std::string& public_key_pem) {
  SHOAL_RETURN_IF_ERROR(CheckAuthority(authority));
  SHOAL_ASSIGN_OR_RETURN(const CertificatePtr issuer, ReadCertificate(authority.certificate_pem));
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr issuer_key, ReadPrivateKey(authority.key_pem));
  SHOAL_ASSIGN_OR_RETURN(const KeyPtr key, ReadPublicKey(public_key_pem));
  NodeCertificate issued;
  SHOAL_ASSIGN_OR_RETURN(issued.serial, RandomSerial());
  SHOAL_ASSIGN_OR_RETURN(
      const CertificatePtr certificate,
      Sign({.common_name = std::string(kNodePrefix) + std::to_string(ToNumber(node)),
            .serial = issued.serial,
            .days = kNodeDays},
           key.get(), issuer.get(), issuer_key.get()));
  SHOAL_ASSIGN_OR_RETURN(issued.certificate_pem, ToPem([&](BIO* bio) {
                           return PEM_write_bio_X509(bio, certificate.get());
                         }));
  return issued;
}

Result<NodeId> NodeOfCertificate(const std::string& certificate_pem) {
  SHOAL_ASSIGN_OR_RETURN(const CertificatePtr certificate, ReadCertificate(certificate_pem));
  return NodeOf(certificate.get());
}

Result<wire::AuthorityHash> HashOfAuthority(const std::string& certificate_pem) {
  SHOAL_ASSIGN_OR_RETURN(const CertificatePtr certificate, ReadCertificate(certificate_pem));
  return HashOf(certificate.get());
}

wire::AuthorityHash HashOf(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  SHOAL_CHECK(X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1);
  wire::AuthorityHash hash{};
  SHOAL_CHECK(size >= hash.size());
  std::memcpy(hash.data(), digest.data(), hash.size());
  return hash;
}

std::uint64_t SerialOf(X509* certificate) {
  std::uint64_t serial = 0;
  if (ASN1_INTEGER_get_uint64(&serial, X509_get0_serialNumber(certificate)) != 1) return 0;
  return serial;
}

Result<NodeId> NodeOf(X509* certificate) {
  const Status wrong(Code::kInvalidArgument, "certificate does not name a node");
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return wrong;
  const ASN1_STRING* name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)),
                              static_cast<std::size_t>(ASN1_STRING_length(name)));
  if (!text.starts_with(kNodePrefix)) return wrong;
  const std::string_view digits = text.substr(kNodePrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong;
  // One name per node: "node-007" is not node 7.
  if (std::to_string(number) != digits) return wrong;
  return NodeId{number};
}

}  // namespace shoal::os
