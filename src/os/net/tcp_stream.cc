#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <string>

#include "os/net/stream_internal.h"

namespace shoal::os {
namespace {

bool IsTransient(const boost::system::error_code& error) {
  return error == boost::asio::error::would_block || error == boost::asio::error::try_again ||
         error == boost::asio::error::interrupted;
}

class TcpStream final : public Stream {
 public:
  explicit TcpStream(boost::asio::ip::tcp::socket& socket) : socket_(socket) {}

  Result<bool> Handshake() override { return true; }
  std::optional<NodeId> proven_peer() const override { return std::nullopt; }
  std::uint64_t proven_serial() const override { return 0; }
  Result<std::size_t> Read(std::span<std::byte> out) override { return ReadSocket(socket_, out); }
  Result<std::size_t> Write(std::span<const std::byte> bytes) override {
    return WriteSocket(socket_, bytes);
  }
  Result<bool> Flush() override { return true; }

 private:
  boost::asio::ip::tcp::socket& socket_;
};

}  // namespace

std::unique_ptr<Stream> MakeTcpStream(boost::asio::ip::tcp::socket& socket) {
  return std::make_unique<TcpStream>(socket);
}

Result<std::size_t> ReadSocket(boost::asio::ip::tcp::socket& socket, std::span<std::byte> out) {
  boost::system::error_code error;
  const std::size_t n = socket.read_some(boost::asio::buffer(out.data(), out.size()), error);
  if (!error) return n;
  if (IsTransient(error)) return std::size_t{0};
  if (error == boost::asio::error::eof) return Status(Code::kUnavailable, "the peer hung up");
  return SocketError("read", error);
}

Result<std::size_t> WriteSocket(boost::asio::ip::tcp::socket& socket,
                                std::span<const std::byte> bytes) {
  boost::system::error_code error;
  const std::size_t n = socket.write_some(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!error) return n;
  if (IsTransient(error)) return std::size_t{0};
  return SocketError("write", error);
}

Status SocketError(std::string_view what, const boost::system::error_code& error) {
  return {Code::kUnavailable, std::string(what) + ": " + error.message()};
}

}  // namespace shoal::os
