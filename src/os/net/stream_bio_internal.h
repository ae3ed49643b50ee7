// StreamBio: what OpenSSL reads from and writes to. It reads from the socket itself, into its own
// buffer, and writes into memory, so that many records leave in one system call and none raises
// SIGPIPE. OpenSSL's memory BIOs cost two more copies on the way in and clear their memory after
// every flush: 9 % of the user time of a TLS all-reduce.
//
// Belongs to one event loop.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <openssl/ssl.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"

namespace shoal::os {

class StreamBio {
 public:
  // Makes `ssl` use it. Both live as long as `ssl` does.
  StreamBio(boost::asio::ip::tcp::socket& socket, SSL* ssl);
  StreamBio(const StreamBio&) = delete;
  StreamBio& operator=(const StreamBio&) = delete;

  // Why the last read failed, if it did; OpenSSL knows only that it did.
  const Status& failure() const { return failure_; }

  // So much is about to be written.
  void Reserve(std::size_t bytes) { outgoing_.reserve(outgoing_.size() + bytes); }
  // Hands to the kernel what OpenSSL has written. False: it does not take all of it now.
  Result<bool> Flush();

 private:
  static BIO_METHOD* Method();
  static int OnRead(BIO* bio, char* out, int size);
  static int OnWrite(BIO* bio, const char* bytes, int size);
  static long OnControl(BIO* bio, int command, long number, void* pointer);

  boost::asio::ip::tcp::socket& socket_;
  Status failure_;
  std::vector<std::byte> outgoing_;
  std::size_t flushed_ = 0;  // Bytes of outgoing_ that the kernel has.
};

}  // namespace shoal::os
