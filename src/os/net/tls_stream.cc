#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "os/net/ca_files_internal.h"
#include "os/net/certificates_internal.h"
#include "os/net/openssl_internal.h"
#include "os/net/stream_bio_internal.h"
#include "os/net/stream_internal.h"
#include "os/net/tls_internal.h"

namespace shoal::os {
namespace {

// What TLS adds to a record of 16 KiB at most, and to the rest.
constexpr std::size_t CiphertextBytes(std::size_t plaintext_bytes) {
  return plaintext_bytes + (plaintext_bytes / (std::size_t{16} << 10) + 1) * 64;
}

// Alerts by which a peer says that it does not like our certificate.
bool IsCertificateAlert(int reason) {
  switch (reason) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return true;
    default:
      return false;
  }
}

class TlsStream final : public Stream {
 public:
  // What the certificate of the other side has to say.
  enum class Peer {
    kNode,      // Which member it is.
    kHost,      // That it is of a web server's name.
    kHead,      // That it is node 1, of the authority that is expected.
    kStranger,  // Nothing: it has none.
  };

  TlsStream(boost::asio::ip::tcp::socket& socket, SSL_CTX* context, Side side, Peer peer)
      : ssl_(MakeSsl(context)), bio_(socket, ssl_.get()), peer_kind_(peer) {
    if (side == Side::kDialler) {
      SSL_set_connect_state(ssl_.get());
    } else {
      SSL_set_accept_state(ssl_.get());
    }
  }

  // The certificate must be for `host`, a name or an address. REQUIRES: before Handshake.
  Status Expect(const std::string& host);
  // The certificate must be signed by this authority. REQUIRES: Peer::kHead.
  void Expect(const wire::AuthorityHash& authority) { expected_ = authority; }
  void JudgeDates() {
    X509_VERIFY_PARAM_clear_flags(SSL_get0_param(ssl_.get()), X509_V_FLAG_NO_CHECK_TIME);
  }
  // Asks for no certificate, and shows the authority's. REQUIRES: Peer::kStranger.
  void ReceiveStrangers(X509* authority) {
    SSL_set_verify(ssl_.get(), SSL_VERIFY_NONE, nullptr);
    SHOAL_CHECK(SSL_add1_chain_cert(ssl_.get(), authority) == 1);
  }

  Result<bool> Handshake() override;
  std::optional<NodeId> proven_peer() const override { return peer_; }
  std::uint64_t proven_serial() const override { return serial_; }
  Result<std::size_t> Read(std::span<std::byte> out) override;
  Result<std::size_t> Write(std::span<const std::byte> bytes) override;
  Result<bool> Flush() override { return bio_.Flush(); }

 private:
  static SslPtr MakeSsl(SSL_CTX* context) {
    SslPtr ssl(SSL_new(context));
    SHOAL_CHECK(ssl != nullptr);
    return ssl;
  }
  // Why the last call failed; tells the peer too, if it listens.
  Status Failure();
  // Notes who the peer is.
  Status Identify();
  Status CheckHead(X509* certificate) const;

  SslPtr ssl_;
  StreamBio bio_;
  Peer peer_kind_;
  std::optional<NodeId> peer_;
  std::uint64_t serial_ = 0;
  wire::AuthorityHash expected_{};
};

Status TlsStream::Expect(const std::string& host) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return {};
  ERR_clear_error();
  // The name is also said in the open: one address serves many names.
  if (SSL_set1_host(ssl_.get(), host.c_str()) != 1 ||
      SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) != 1) {
    return OpenSslError(Code::kInvalidArgument, "TLS: name of the host");
  }
  return {};
}

Status TlsStream::Failure() {
  if (!bio_.failure().ok()) return bio_.failure();
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  // Where nobody is verified, OpenSSL still notes what it would have said.
  const auto verdict = SSL_get_verify_mode(ssl_.get()) == SSL_VERIFY_NONE
                           ? X509_V_OK
                           : SSL_get_verify_result(ssl_.get());
  (void)Flush();  // The alert, if there is one. Whether it arrives changes nothing here.
  if (verdict != X509_V_OK) {
    ERR_clear_error();
    const bool dates =
        verdict == X509_V_ERR_CERT_NOT_YET_VALID || verdict == X509_V_ERR_CERT_HAS_EXPIRED;
    return {Code::kInvalidArgument, std::string("certificate of the peer: ") +
                                        X509_verify_cert_error_string(verdict) +
                                        (dates ? ", or this device's date is wrong" : "")};
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return OpenSslError(Code::kInvalidArgument, "TLS");
  }
  if (IsCertificateAlert(reason)) {
    return OpenSslError(Code::kInvalidArgument, "TLS: the peer refused this node's certificate");
  }
  return OpenSslError(Code::kCorruption, "TLS");
}

Result<bool> TlsStream::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done != 1) {
    if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) return Failure();
    SHOAL_RETURN_IF_ERROR(Flush().status());
    return false;
  }
  SHOAL_RETURN_IF_ERROR(Flush().status());
  SHOAL_RETURN_IF_ERROR(Identify());
  return true;
}

Status TlsStream::Identify() {
  // OpenSSL has compared the names of a host.
  if (peer_kind_ == Peer::kHost || peer_kind_ == Peer::kStranger) return {};
  const CertificatePtr certificate(SSL_get1_peer_certificate(ssl_.get()));
  if (certificate == nullptr) return {Code::kInvalidArgument, "TLS: no certificate"};
  if (peer_kind_ == Peer::kHead) SHOAL_RETURN_IF_ERROR(CheckHead(certificate.get()));
  SHOAL_ASSIGN_OR_RETURN(peer_, NodeOf(certificate.get()));
  serial_ = SerialOf(certificate.get());
  return {};
}

// By now the peer has proven that it holds the key of `certificate`, and nothing was sent
// to it.
Status TlsStream::CheckHead(X509* certificate) const {
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl_.get());
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* authority = sk_X509_value(chain, i);
    if (HashOf(authority) != expected_) continue;
    SHOAL_RETURN_IF_ERROR(CheckSignedBy(authority, certificate));
    SHOAL_ASSIGN_OR_RETURN(const NodeId node, NodeOf(certificate));
    if (node == kHeadNode) return {};
    return {Code::kInvalidArgument,
            "there is node " + std::to_string(ToNumber(node)) + " of the cluster, not its head"};
  }
  return {Code::kInvalidArgument, "the join token is of another cluster than the head there"};
}

Result<std::size_t> TlsStream::Read(std::span<std::byte> out) {
  ERR_clear_error();
  std::size_t n = 0;
  const int ok = SSL_read_ex(ssl_.get(), out.data(), out.size(), &n);
  if (ok == 1) return n;
  const int error = SSL_get_error(ssl_.get(), ok);
  if (error == SSL_ERROR_ZERO_RETURN) return Status(Code::kUnavailable, "the peer hung up");
  if (error != SSL_ERROR_WANT_READ) return Failure();
  return std::size_t{0};
}

Result<std::size_t> TlsStream::Write(std::span<const std::byte> bytes) {
  SHOAL_ASSIGN_OR_RETURN(const bool flushed, Flush());
  if (!flushed) return std::size_t{0};
  ERR_clear_error();
  bio_.Reserve(CiphertextBytes(bytes.size()));
  std::size_t n = 0;
  // Into memory: all of it, at once.
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n) != 1) return Failure();
  SHOAL_RETURN_IF_ERROR(Flush().status());
  return n;
}

}  // namespace

std::unique_ptr<Stream> MakeTlsStream(boost::asio::ip::tcp::socket& socket,
                                      const TlsIdentity& identity, Side side, Dates dates) {
  auto stream = std::make_unique<TlsStream>(socket, TlsInternals::Context(identity), side,
                                            TlsStream::Peer::kNode);
  if (dates == Dates::kJudged) stream->JudgeDates();
  return stream;
}

std::unique_ptr<Stream> MakeStrangerStream(boost::asio::ip::tcp::socket& socket,
                                           const TlsIdentity& identity) {
  auto stream = std::make_unique<TlsStream>(socket, TlsInternals::Context(identity),
                                            Side::kAcceptor, TlsStream::Peer::kStranger);
  stream->ReceiveStrangers(TlsInternals::Authority(identity));
  return stream;
}

Result<std::unique_ptr<Stream>> MakeEnrolStream(boost::asio::ip::tcp::socket& socket,
                                                const wire::AuthorityHash& authority) {
  SHOAL_ASSIGN_OR_RETURN(const SslContextPtr context, MakeTlsContext());
  auto stream =
      std::make_unique<TlsStream>(socket, context.get(), Side::kDialler, TlsStream::Peer::kHead);
  stream->Expect(authority);
  return std::unique_ptr<Stream>(std::move(stream));
}

Result<std::unique_ptr<Stream>> MakeHttpsStream(boost::asio::ip::tcp::socket& socket,
                                                const CaCertificates& trusted,
                                                const std::string& host) {
  auto stream = std::make_unique<TlsStream>(socket, CaInternals::Context(trusted), Side::kDialler,
                                            TlsStream::Peer::kHost);
  SHOAL_RETURN_IF_ERROR(stream->Expect(host));
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace shoal::os
