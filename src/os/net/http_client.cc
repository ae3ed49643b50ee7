#include "os/net/http_client.h"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <utility>

#include "os/net/http_connection_internal.h"
#include "os/net/http_response_internal.h"

namespace shoal::os {
namespace {

constexpr std::size_t kRedirectsMax = 10;

// Without the query, which may be long and may be a secret.
std::string NameOf(const Url& url) {
  const std::string text = url.ToString();
  return text.substr(0, text.find('?'));
}

bool IsRedirect(const HttpHead& head) {
  switch (head.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return !head.Header("Location").empty();
    default:
      return false;
  }
}

// A control character in a header would end its line.
Status CheckHeaders(const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    if (std::any_of(value.begin(), value.end(),
                    [](unsigned char c) { return c < ' ' || c == 127; })) {
      return {Code::kInvalidArgument, "control characters in the header " + name};
    }
  }
  return {};
}

// Up to the body. `own`: what belongs to the method.
Result<std::string> RequestHead(std::string_view method, const Url& url, const HttpRequest& request,
                                bool with_private, const HttpHeaders& own = {}) {
  HttpHeaders headers = {{"Host", url.Authority()},
                         {"User-Agent", "shoal"},
                         {"Accept", "*/*"},
                         {"Accept-Encoding", "identity"},
                         {"Connection", "close"}};
  headers.insert(headers.end(), own.begin(), own.end());
  headers.insert(headers.end(), request.headers.begin(), request.headers.end());
  if (with_private) {
    headers.insert(headers.end(), request.private_headers.begin(), request.private_headers.end());
  }
  SHOAL_RETURN_IF_ERROR(CheckHeaders(headers));
  std::string text = std::string(method) + " " + url.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return text + "\r\n";
}

// Where `head` sends us, if it may.
Result<Url> FollowRedirect(const HttpHead& head) {
  SHOAL_ASSIGN_OR_RETURN(Url next, ResolveReference(head.url, head.Header("Location")));
  if (head.url.https && !next.https) {
    return Status(Code::kInvalidArgument, "a redirect from https to " + NameOf(next) +
                                              ", which is not encrypted, is not followed");
  }
  return next;
}

// The first of the host's addresses that takes the connection.
Result<std::unique_ptr<HttpConnection>> ConnectHost(Loop& loop, const HttpClient::Options& options,
                                                    const Url& url) {
  SHOAL_ASSIGN_OR_RETURN(const auto addresses, Resolve(loop, options.resolver, url.host));
  Status failure(Code::kUnavailable, "no address");
  for (const std::string& address : addresses) {
    boost::system::error_code error;
    const auto ip = boost::asio::ip::make_address(address, error);
    if (error) continue;
    auto connection =
        HttpConnection::Connect(loop, {ip, url.port}, options.connect_max, options.silence_max);
    if (connection.ok()) return connection;
    failure = std::move(connection).status().Annotate(address);
  }
  return failure;
}

}  // namespace

HttpResponse::HttpResponse(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpResponse::HttpResponse(HttpResponse&& other) noexcept = default;
HttpResponse& HttpResponse::operator=(HttpResponse&& other) noexcept = default;
HttpResponse::~HttpResponse() = default;

const HttpHead& HttpResponse::head() const { return impl_->head(); }
std::optional<std::uint64_t> HttpResponse::size() const { return impl_->size(); }

Result<std::size_t> HttpResponse::Read(std::span<std::byte> out) {
  auto n = impl_->Read(out);
  if (!n.ok()) return std::move(n).status().Annotate(NameOf(head().url));
  return n;
}

Result<std::string> HttpResponse::ReadAll(std::size_t bytes_max) {
  constexpr std::size_t kStep = std::size_t{64} << 10;
  std::string body;
  for (;;) {
    const std::size_t filled = body.size();
    body.resize(filled + kStep);
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n,
                           Read(std::as_writable_bytes(std::span(body)).subspan(filled)));
    body.resize(filled + n);
    if (body.size() > bytes_max) {
      return Status(Code::kResourceExhausted, NameOf(head().url) + ": the answer has more than " +
                                                  std::to_string(bytes_max) + " bytes");
    }
    if (n == 0) return body;
  }
}

HttpClient::HttpClient(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

Result<HttpResponse> HttpClient::Send(const Url& url, std::string_view text) {
  if (url.https && options_.trusted == nullptr) {
    return Status(Code::kInvalidArgument,
                  "cannot verify who answers: " + options_.why_none_trusted);
  }
  SHOAL_ASSIGN_OR_RETURN(auto connection, ConnectHost(loop_, options_, url));
  if (url.https) SHOAL_RETURN_IF_ERROR(connection->Secure(*options_.trusted, url.host));
  SHOAL_RETURN_IF_ERROR(connection->Write(text));
  auto impl = std::make_unique<HttpResponse::Impl>(std::move(connection), options_.trusted);
  SHOAL_RETURN_IF_ERROR(impl->ReadHead(url));
  return HttpResponse(std::move(impl));
}

Result<HttpResponse> HttpClient::GetOne(const Url& url, const HttpRequest& request,
                                        bool with_private) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, RequestHead("GET", url, request, with_private));
  return Send(url, text);
}

Result<HttpResponse> HttpClient::Post(const HttpRequest& request, std::string_view content_type,
                                      std::string_view body) {
  SHOAL_ASSIGN_OR_RETURN(std::string text,
                         RequestHead("POST", request.url, request, /*with_private=*/true,
                                     {{"Content-Type", std::string(content_type)},
                                      {"Content-Length", std::to_string(body.size())}}));
  text += body;
  auto response = Send(request.url, text);
  if (!response.ok()) return std::move(response).status().Annotate(NameOf(request.url));
  return response;
}

Result<HttpResponse> HttpClient::Get(const HttpRequest& request) {
  Url url = request.url;
  bool with_private = true;
  std::vector<HttpHead> redirects;
  for (;;) {
    // Once it has left, it is not told even when redirects come back.
    with_private = with_private && SameOrigin(url, request.url);
    auto response = GetOne(url, request, with_private);
    if (!response.ok()) return std::move(response).status().Annotate(NameOf(url));
    if (!IsRedirect(response->head())) {
      response->redirects_ = std::move(redirects);
      return response;
    }
    redirects.push_back(response->head());
    if (redirects.size() > kRedirectsMax) {
      return Status(Code::kInvalidArgument,
                    NameOf(request.url) + ": more than 10 redirects, the last to " + NameOf(url));
    }
    auto next = FollowRedirect(redirects.back());
    if (!next.ok()) return std::move(next).status().Annotate(NameOf(url));
    url = *std::move(next);
  }
}

}  // namespace shoal::os
