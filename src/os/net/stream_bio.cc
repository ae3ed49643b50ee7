#include "base/check.h"
#include "os/net/stream_bio_internal.h"
#include "os/net/stream_internal.h"

namespace shoal::os {
namespace {

// What OpenSSL asks the socket for at once: some records, which a fast link has ready. It gives the
// buffer back when it is empty.
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

StreamBio::StreamBio(boost::asio::ip::tcp::socket& socket, SSL* ssl) : socket_(socket) {
  BIO* bio = BIO_new(Method());
  SHOAL_CHECK(bio != nullptr);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_read_ahead(ssl, 1);
  SSL_set_default_read_buffer_len(ssl, kReadBytes);
}

BIO_METHOD* StreamBio::Method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    SHOAL_CHECK(made != nullptr && BIO_meth_set_read(made, OnRead) == 1 &&
                BIO_meth_set_write(made, OnWrite) == 1 && BIO_meth_set_ctrl(made, OnControl) == 1);
    return made;
  }();
  return method;
}

int StreamBio::OnRead(BIO* bio, char* out, int size) {
  auto& self = *static_cast<StreamBio*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const Result<std::size_t> n = ReadSocket(
      self.socket_, std::as_writable_bytes(std::span(out, static_cast<std::size_t>(size))));
  if (!n.ok()) {
    self.failure_ = n.status();
    return -1;
  }
  if (*n > 0) return static_cast<int>(*n);
  BIO_set_retry_read(bio);
  return -1;
}

int StreamBio::OnWrite(BIO* bio, const char* bytes, int size) {
  auto& self = *static_cast<StreamBio*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (size <= 0) return 0;
  const auto added = std::as_bytes(std::span(bytes, static_cast<std::size_t>(size)));
  self.outgoing_.insert(self.outgoing_.end(), added.begin(), added.end());
  return size;
}

long StreamBio::OnControl(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

Result<bool> StreamBio::Flush() {
  while (flushed_ < outgoing_.size()) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n,
                           WriteSocket(socket_, std::span(outgoing_).subspan(flushed_)));
    if (n == 0) return false;
    flushed_ += n;
  }
  outgoing_ = {};  // An idle connection keeps no buffer.
  flushed_ = 0;
  return true;
}

}  // namespace shoal::os
