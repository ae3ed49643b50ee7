#include <boost/asio/ip/address.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "os/net/endpoint_internal.h"

namespace shoal::os {
namespace {

Status Wrong(const std::string& address, const char* problem) {
  return {Code::kInvalidArgument, "address \"" + address + "\": " + problem};
}

}  // namespace

Result<boost::asio::ip::tcp::endpoint> ParseEndpoint(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Wrong(address, "has no port, write host:port");
  const std::string_view digits = std::string_view(address).substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Wrong(address, "the port is not a number from 0 to 65535");
  }
  std::string host = address.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code ec;
  const auto ip = boost::asio::ip::make_address(host, ec);
  if (ec || ip.is_v6() != bracketed) {
    return Wrong(address, "the host is not an IPv4 address or an IPv6 address in brackets");
  }
  return boost::asio::ip::tcp::endpoint(ip, port);
}

std::string FormatEndpoint(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

std::string RemoteAddress(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "somebody" : endpoint.address().to_string();
}

}  // namespace shoal::os
