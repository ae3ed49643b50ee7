// A client of web servers: GET and POST over http and https, one connection for each request, one
// step after the other. Everything has a deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/ca_files.h"
#include "os/net/http_headers.h"
#include "os/net/resolver.h"
#include "os/net/url.h"

namespace shoal::os {

// What a server says before the bytes come.
struct HttpHead {
  Url url;  // Of this answer.
  int status = 0;
  HttpHeaders headers;

  // The first of that name, in any case; empty: there is none.
  std::string_view Header(std::string_view name) const { return FindHeader(headers, name); }
};

struct HttpRequest {
  Url url;
  HttpHeaders headers;          // For every host on the way.
  HttpHeaders private_headers;  // Only as long as redirects stay at the first origin.
};

// An answer whose head has come. Belongs to the client's loop.
class HttpResponse {
 public:
  HttpResponse(HttpResponse&& other) noexcept;
  HttpResponse& operator=(HttpResponse&& other) noexcept;
  ~HttpResponse();

  const HttpHead& head() const;
  // The redirects before it, in order.
  const std::vector<HttpHead>& redirects() const { return redirects_; }
  // Bytes of the body; nothing: the server sends them in chunks.
  std::optional<std::uint64_t> size() const;

  // The next bytes of the body, at most out.size(); 0: it is complete. kUnavailable: the
  // connection broke before that; kDeadlineExceeded: it fell silent.
  Result<std::size_t> Read(std::span<std::byte> out);
  // The whole body. kResourceExhausted: it has more than `bytes_max`.
  Result<std::string> ReadAll(std::size_t bytes_max);

 private:
  friend class HttpClient;
  class Impl;
  explicit HttpResponse(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::vector<HttpHead> redirects_;
};

class HttpClient {
 public:
  struct Options {
    ResolverOptions resolver;
    std::shared_ptr<const CaCertificates> trusted;    // None: https is refused ...
    std::string why_none_trusted;                     // ... with this reason.
    Duration connect_max = std::chrono::seconds(10);  // For each address of a host.
    Duration silence_max = std::chrono::seconds(60);  // Between two bytes, or none at all.
  };
  HttpClient(Loop& loop, Options options);

  // Sends the request, follows redirects and waits for the head of the answer, whatever its
  // status. Every failure names the URL. kInvalidArgument: a retry is pointless (a
  // certificate is not trusted, redirects go in circles or from https to http, the head is
  // too large); kNotFound: there is no such host; kUnavailable, kDeadlineExceeded: the
  // server cannot be reached now; kCorruption: it does not speak HTTP.
  Result<HttpResponse> Get(const HttpRequest& request);

  // The same with a body, which goes to request.url and nowhere else: a redirect is the answer.
  Result<HttpResponse> Post(const HttpRequest& request, std::string_view content_type,
                            std::string_view body);

 private:
  // `text`: the whole request.
  Result<HttpResponse> Send(const Url& url, std::string_view text);
  Result<HttpResponse> GetOne(const Url& url, const HttpRequest& request, bool with_private);

  Loop& loop_;
  Options options_;
};

}  // namespace shoal::os
