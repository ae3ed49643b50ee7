// A connection whose caller waits, with deadlines: under an HTTP request or an enrolment.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/ca_files.h"
#include "os/net/stream_internal.h"

namespace shoal::os {

class HttpConnection {
 public:
  // Connects to one address. `silence_max`: how long Write and Read wait for the peer.
  static Result<std::unique_ptr<HttpConnection>> Connect(Loop& loop,
                                                         const boost::asio::ip::tcp::endpoint& to,
                                                         Duration connect_max,
                                                         Duration silence_max);
  // Encrypts what follows. REQUIRES: nothing was written; `trusted` outlives the connection.
  Status Secure(const CaCertificates& trusted, const std::string& host);

  // The same towards the head of the cluster with this authority.
  Status Secure(const wire::AuthorityHash& authority);

  Status Write(std::string_view bytes);
  // At least one byte. kUnavailable: the peer hung up, or the connection broke.
  Result<std::size_t> Read(std::span<std::byte> out);

 private:
  HttpConnection(Loop& loop, Duration silence_max);
  Status Handshake();

  Loop& loop_;
  Duration silence_max_;
  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<Stream> stream_;  // On socket_.
};

}  // namespace shoal::os
