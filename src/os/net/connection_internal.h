// Connection: one socket from the first packet to the last. It secures the stream,
// exchanges hellos, then moves slices both ways and notices when the peer falls
// silent. What is said in a hello, and which slices go next, its owner decides.
//
// Belongs to one event loop. The owner is called from loop events only, never from
// inside a call; inside such a call it may Close any connection, this one included.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/stream_internal.h"
#include "os/net/unsent_limit_internal.h"
#include "wire/frame.h"
#include "wire/hello.h"

namespace shoal::os {

// What all connections of a network share; outlives them.
struct ConnectionConfig {
  Loop& loop;
  const TlsIdentity* tls = nullptr;  // Null: plain TCP.
  Duration ping_interval;
  Duration silence_max;
  // One for all: bytes are taken out of it before the next read.
  std::vector<std::byte> read_buffer;
  Dates dates = Dates::kIgnored;
  std::set<std::uint64_t> revoked = {};  // Serial numbers of certificates that are void.
};

class Connection;

class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;

  // The stream is ready, and over TLS proven_peer() is known. A dialler says hello now.
  virtual void OnSecured(Connection& connection) = 0;
  virtual void OnHello(Connection& connection, const wire::Hello& hello) = 0;
  virtual void OnFrame(Connection& connection, wire::Kind kind, Frame frame) = 0;
  // What the last read brought has been handed over.
  virtual void OnReadEnd(Connection& connection) = 0;
  // The socket takes bytes: append what goes next, a few slices, or nothing.
  virtual void FillBatch(Connection& connection, std::vector<std::byte>& batch) = 0;
  // The connection failed and is closed. Not called after Close.
  virtual void OnFailed(Connection& connection, const Status& why) = 0;
};

// Shared, because Asio's pending waits hold it: it lives until the last of them has
// come back, long after Close.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Connects to `endpoint`; then OnSecured or OnFailed.
  static std::shared_ptr<Connection> Dial(ConnectionConfig& config,
                                          const boost::asio::ip::tcp::endpoint& endpoint,
                                          ConnectionOwner& owner);
  // Takes a socket that was accepted; then OnSecured or OnFailed.
  static std::shared_ptr<Connection> Accept(ConnectionConfig& config,
                                            boost::asio::ip::tcp::socket socket,
                                            ConnectionOwner& owner);

  void SetOwner(ConnectionOwner& owner) { owner_ = &owner; }

  std::optional<NodeId> proven_peer() const { return stream_->proven_peer(); }
  // 0: not secured yet, or without TLS.
  std::uint64_t proven_serial() const { return stream_ != nullptr ? stream_->proven_serial() : 0; }
  // The peer's certificate is one of those that are void.
  bool is_revoked() const { return config_.revoked.contains(proven_serial()); }
  // Where an accepted connection comes from, without the port.
  const std::string& address() const { return address_; }

  // Sends a hello. REQUIRES: OnSecured was called.
  void SendHello(const wire::Hello& hello);
  // Sends a hello that refuses, as far as the socket takes it, and closes.
  void RefuseAndClose(const wire::Hello& hello);

  // From now on slices come and go, and the peer must not be silent.
  // REQUIRES: OnHello was called.
  void Open(wire::Role role);

  // There is something to FillBatch with.
  void WriteSoon();

  // Bytes of whole bulk slices that have arrived.
  std::uint64_t bulk_bytes() const { return decoder_.bulk_bytes(); }

  // Ends it; the owner hears nothing more. Does nothing the second time.
  void Close();

 private:
  // kGreeted: the hello has come and nothing is read until Open, so that no frame can
  // overtake the owner's decision.
  enum class Phase { kConnecting, kSecuring, kGreeting, kGreeted, kOpen, kClosed };

  Connection(ConnectionConfig& config, boost::asio::ip::tcp::socket socket, ConnectionOwner& owner,
             Side side);

  void SetSocketOptions();
  void LimitUnsent();
  void Secure();
  void WaitReadable();
  void WaitWritable();
  void OnReadable();
  void ReadHello();
  void ReadFrames();
  // False: closed on the way.
  bool HandOver(std::span<const std::byte> bytes);
  void Write();
  void OnFull();
  void RefillBatch();
  void Tick();
  void Fail(const Status& why);

  ConnectionConfig& config_;
  boost::asio::ip::tcp::socket socket_;
  ConnectionOwner* owner_;  // Null once closed.
  Side side_;
  Phase phase_ = Phase::kConnecting;
  std::unique_ptr<Stream> stream_;
  std::string address_;

  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
  bool write_posted_ = false;

  wire::HelloBytes hello_{};
  std::size_t hello_filled_ = 0;
  wire::FrameDecoder decoder_{wire::Role::kMain};

  // The slices on their way to the kernel. Their order is decided; all else waits above.
  std::vector<std::byte> batch_;
  std::size_t batch_written_ = 0;
  UnsentLimit unsent_;

  TimerId tick_{};
  bool heard_ = true;  // Since the last tick.
  bool wrote_ = true;  // Since the last tick.
  bool ping_due_ = false;
  std::int64_t silent_ticks_ = 0;
};

}  // namespace shoal::os
