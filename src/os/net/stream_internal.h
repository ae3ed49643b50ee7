// Stream: bytes over one connected socket, plain or encrypted, without waiting.
// The connection above it (connection_internal.h) waits for the socket and does not
// know which of the two it has.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/node_id.h"
#include "base/status.h"
#include "wire/join_token.h"

namespace shoal::os {

class CaCertificates;
class TlsIdentity;
enum class Side { kDialler, kAcceptor };
// Whether the dates in a peer's certificate count: on the head, which has a clock.
enum class Dates { kIgnored, kJudged };

// Belongs to one event loop. After any failure the stream is of no more use.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Goes on with what must happen before the first byte. True: done. False: wait until
  // the socket is readable (or writable, if Flush says so) and call again.
  // kInvalidArgument: a certificate was refused; kCorruption: the peer speaks something
  // else; kUnavailable: it is gone.
  virtual Result<bool> Handshake() = 0;

  // Who the peer is, by certificate. Nothing without TLS. REQUIRES: the handshake is done.
  virtual std::optional<NodeId> proven_peer() const = 0;

  // The serial number of that certificate; 0 without one.
  virtual std::uint64_t proven_serial() const = 0;

  // Bytes read into `out`, which has room; 0: none now, wait until the socket is readable.
  virtual Result<std::size_t> Read(std::span<std::byte> out) = 0;

  // Bytes taken from the front of `bytes`; 0: none now, wait until the socket is writable.
  virtual Result<std::size_t> Write(std::span<const std::byte> bytes) = 0;

  // Hands to the kernel what Write or Handshake kept. False: wait until the socket is
  // writable and call again.
  virtual Result<bool> Flush() = 0;
};

// `socket` is connected, non-blocking and outlives the stream.
std::unique_ptr<Stream> MakeTcpStream(boost::asio::ip::tcp::socket& socket);
std::unique_ptr<Stream> MakeTlsStream(boost::asio::ip::tcp::socket& socket,
                                      const TlsIdentity& identity, Side side, Dates dates);
// Of the head, to whoever knocks: shows the authority's certificate too, and asks for none.
std::unique_ptr<Stream> MakeStrangerStream(boost::asio::ip::tcp::socket& socket,
                                           const TlsIdentity& identity);
// To the head, by somebody who has no certificate yet: it must be node 1 of the cluster whose
// authority has this hash. Dates are not judged.
Result<std::unique_ptr<Stream>> MakeEnrolStream(boost::asio::ip::tcp::socket& socket,
                                                const wire::AuthorityHash& authority);
// To a web server: its certificate must be for `host` and signed by one of `trusted`, which
// outlive the stream.
Result<std::unique_ptr<Stream>> MakeHttpsStream(boost::asio::ip::tcp::socket& socket,
                                                const CaCertificates& trusted,
                                                const std::string& host);

// Non-blocking calls on a socket, shared by both streams. 0 bytes: none now.
Result<std::size_t> ReadSocket(boost::asio::ip::tcp::socket& socket, std::span<std::byte> out);
Result<std::size_t> WriteSocket(boost::asio::ip::tcp::socket& socket,
                                std::span<const std::byte> bytes);

// kUnavailable with the system's words for it: "connect: Connection refused".
Status SocketError(std::string_view what, const boost::system::error_code& error);

}  // namespace shoal::os
