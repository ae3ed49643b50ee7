#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "os/net/http_response_internal.h"

namespace shoal::os {
namespace {

namespace http = boost::beast::http;

constexpr int kInterimAnswersMax = 5;

Status ParseFailure(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return {Code::kInvalidArgument, "the server's headers are larger than 64 KiB"};
  }
  return {Code::kCorruption, "the server does not speak HTTP/1.1: " + error.message()};
}

HttpHeaders HeadersOf(const http::fields& fields) {
  HttpHeaders headers;
  for (const auto& field : fields) {
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return headers;
}

}  // namespace

Status HttpResponse::Impl::Fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.end(),
              buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
  }
  // The parser refuses a head or a chunk's line before it fills the buffer.
  if (end_ == buffer_.size()) return ParseFailure(http::error::header_limit);
  SHOAL_ASSIGN_OR_RETURN(const std::size_t n, connection_->Read(std::span(buffer_).subspan(end_)));
  end_ += n;
  return {};
}

Result<bool> HttpResponse::Impl::Parse() {
  if (begin_ == end_) return false;
  boost::system::error_code error;
  const std::size_t n = parser_->put(boost::asio::buffer(&buffer_[begin_], end_ - begin_), error);
  begin_ += n;
  if (error && error != http::error::need_more && error != http::error::need_buffer) {
    return ParseFailure(error);
  }
  return n > 0;
}

Status HttpResponse::Impl::ReadHead(const Url& url) {
  for (int i = 0; i < kInterimAnswersMax; ++i) {
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(kHttpHeadBytesMax);
    // Not boost::none: Beast 1.74 then refuses every body.
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    parser_->eager(false);  // Stops where the body begins.
    while (!parser_->is_header_done()) {
      SHOAL_ASSIGN_OR_RETURN(const bool progress, Parse());
      if (!progress) SHOAL_RETURN_IF_ERROR(Fill());
    }
    head_.url = url;
    head_.status = static_cast<int>(parser_->get().result_int());
    head_.headers = HeadersOf(parser_->get().base());
    if (head_.status >= 200) return {};  // Below: "go on", "the answer follows".
  }
  return {Code::kCorruption, "the server gives no answer but interim ones"};
}

std::optional<std::uint64_t> HttpResponse::Impl::size() const {
  const auto length = parser_->content_length();
  if (!length) return std::nullopt;
  return *length;
}

Result<std::size_t> HttpResponse::Impl::Read(std::span<std::byte> out) {
  // The end of such a body cannot be told from a connection that broke.
  if (parser_->need_eof()) {
    return Status(Code::kInvalidArgument, "the server does not say how much it sends");
  }
  auto& body = parser_->get().body();
  body.data = out.data();
  body.size = out.size();
  body.more = true;
  while (!parser_->is_done()) {
    SHOAL_ASSIGN_OR_RETURN(const bool progress, Parse());
    if (body.size < out.size()) return out.size() - body.size;
    if (!progress && !parser_->is_done()) SHOAL_RETURN_IF_ERROR(Fill());
  }
  return std::size_t{0};
}

}  // namespace shoal::os
