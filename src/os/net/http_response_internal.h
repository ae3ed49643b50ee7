// The answer to an HTTP request, read from its connection.
#pragma once

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "os/net/http_client.h"
#include "os/net/http_connection_internal.h"

namespace shoal::os {

// The head of an answer; a CDN's with long cookies and signatures has 4 KiB.
inline constexpr std::size_t kHttpHeadBytesMax = std::size_t{64} << 10;

class HttpResponse::Impl {
 public:
  // `trusted` is kept because the connection needs it.
  Impl(std::unique_ptr<HttpConnection> connection, std::shared_ptr<const CaCertificates> trusted)
      : trusted_(std::move(trusted)), connection_(std::move(connection)) {}

  Status ReadHead(const Url& url);
  const HttpHead& head() const { return head_; }
  std::optional<std::uint64_t> size() const;
  Result<std::size_t> Read(std::span<std::byte> out);

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

  // Reads more from the connection behind what waits in buffer_.
  Status Fill();
  // Gives the parser what waits; whether it took something.
  Result<bool> Parse();

  std::shared_ptr<const CaCertificates> trusted_;
  std::unique_ptr<HttpConnection> connection_;
  std::unique_ptr<Parser> parser_;
  HttpHead head_;
  // Read but not yet parsed: [begin_, end_) of buffer_.
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kHttpHeadBytesMax + 1);
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace shoal::os
