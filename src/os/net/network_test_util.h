// For tests of TcpNetwork: events written down, and peers that speak bytes of the
// test's choice.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <openssl/pem.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/network.h"
#include "os/loop.h"
#include "os/loop_internal.h"
#include "os/net/certificates.h"
#include "os/net/endpoint_internal.h"
#include "os/net/openssl_internal.h"
#include "os/net/tcp_network.h"
#include "wire/hello.h"

namespace shoal::os {

using Bytes = std::vector<std::byte>;

inline Bytes ToBytes(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

struct EventLog final : NetworkEvents {
  void OnPeerUp(NodeId peer) override { ups.push_back(peer); }
  void OnPeerDown(NodeId peer, const Status& why) override { downs.emplace_back(peer, why); }
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame frame) override {
    frames.push_back(std::move(frame));
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}
  bool empty() const { return ups.empty() && downs.empty() && frames.empty(); }

  std::vector<NodeId> ups;
  std::vector<std::pair<NodeId, Status>> downs;
  std::vector<Frame> frames;
};

// A node that listens.
struct TestNode {
  TestNode(Loop& loop, NodeId id, TcpNetwork::Options options)
      : network(loop, id, std::move(options)), address(*network.Listen("127.0.0.1:0")) {
    network.Attach(&log);
  }
  EventLog log;
  TcpNetwork network;
  std::string address;
};

// One end of a socket that says what the test wants and collects what it hears.
class RawPeer {
 public:
  explicit RawPeer(Loop& loop) : state_(std::make_shared<State>(LoopInternals::Context(loop))) {}
  RawPeer(Loop& loop, const std::string& address) : RawPeer(loop) {
    state_->socket.connect(*ParseEndpoint(address));
    Listen(state_);
  }
  ~RawPeer() {
    boost::system::error_code ignored;
    state_->socket.close(ignored);
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // Waits for one connection.
  void AcceptFrom(boost::asio::ip::tcp::acceptor& acceptor) {
    acceptor.async_accept(state_->socket, [state = state_](const boost::system::error_code& e) {
      if (!e) Listen(state);
    });
  }

  // At most a socket buffer at once. The peer may have closed: then nobody hears it.
  void Say(const Bytes& bytes) {
    boost::system::error_code ignored;
    boost::asio::write(state_->socket, boost::asio::buffer(bytes), ignored);
  }
  void HangUp() { state_->socket.close(); }

  const Bytes& heard() const { return state_->heard; }
  bool closed() const { return state_->closed; }

 private:
  struct State {
    explicit State(boost::asio::io_context& context) : socket(context) {}
    boost::asio::ip::tcp::socket socket;
    std::array<std::byte, 4096> buffer{};
    Bytes heard;
    bool closed = false;
  };

  static void Listen(const std::shared_ptr<State>& state) {
    state->socket.async_read_some(boost::asio::buffer(state->buffer),
                                  [state](const boost::system::error_code& error, std::size_t n) {
                                    state->heard.insert(
                                        state->heard.end(), state->buffer.begin(),
                                        state->buffer.begin() + static_cast<std::ptrdiff_t>(n));
                                    if (error) {
                                      state->closed = true;
                                    } else {
                                      Listen(state);
                                    }
                                  });
  }

  std::shared_ptr<State> state_;  // Shared with the pending read.
};

// A port that a test serves by hand.
struct RawServer {
  explicit RawServer(Loop& loop)
      : acceptor(LoopInternals::Context(loop),
                 {boost::asio::ip::address_v4::loopback(), /*port=*/0}),
        address(FormatEndpoint(acceptor.local_endpoint())) {}
  boost::asio::ip::tcp::acceptor acceptor;
  std::string address;
};

inline std::shared_ptr<const TlsIdentity> MakeTestIdentity(const Authority& authority, NodeId id) {
  const std::string key = *MakePrivateKey();
  const NodeCertificate certificate = *IssueCertificate(authority, id, *PublicKeyOf(key));
  return *TlsIdentity::Make(authority.certificate_pem, certificate.certificate_pem, key);
}

// The same certificate with other dates ("20010101000000Z"), signed again.
inline std::string WithDates(const std::string& certificate_pem, const std::string& signer_key_pem,
                             const char* from, const char* until) {
  const CertificatePtr x = *ReadCertificate(certificate_pem);
  const KeyPtr key = *ReadPrivateKey(signer_key_pem);
  ASN1_TIME_set_string_X509(X509_getm_notBefore(x.get()), from);
  ASN1_TIME_set_string_X509(X509_getm_notAfter(x.get()), until);
  X509_sign(x.get(), key.get(), nullptr);
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), x.get());
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace shoal::os
