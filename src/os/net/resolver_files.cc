// What the system's files say about names.
#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

#include "os/file.h"
#include "os/net/endpoint_internal.h"
#include "os/net/resolver.h"

namespace shoal::os {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
// More are not asked: a user who waits would have given up.
constexpr std::size_t kServersMax = 4;

// The words of each line, comments left out.
std::vector<std::vector<std::string_view>> WordsOf(std::string_view text) {
  std::vector<std::vector<std::string_view>> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find_first_of("#;"));
    std::vector<std::string_view> words;
    for (;;) {
      const std::size_t begin = line.find_first_not_of(" \t\r");
      if (begin == std::string_view::npos) break;
      line.remove_prefix(begin);
      const std::size_t length = std::min(line.find_first_of(" \t\r"), line.size());
      words.push_back(line.substr(0, length));
      line.remove_prefix(length);
    }
    if (!words.empty()) lines.push_back(std::move(words));
  }
  return lines;
}

std::optional<boost::asio::ip::address> AddressOf(std::string_view text) {
  boost::system::error_code error;
  auto address = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return address;
}

// "1.1.1.1", "1.1.1.1:53", "::1", "[::1]", "[::1]:53" as an endpoint.
std::optional<std::string> ServerOf(std::string_view text) {
  if (const auto endpoint = ParseEndpoint(std::string(text)); endpoint.ok()) {
    return FormatEndpoint(*endpoint);
  }
  if (text.size() > 2 && text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
  }
  constexpr std::uint16_t kDnsPort = 53;
  if (const auto address = AddressOf(text)) return FormatEndpoint({*address, kDnsPort});
  return std::nullopt;
}

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::vector<std::string> ServersIn(std::string_view resolv_conf) {
  std::vector<std::string> servers;
  for (const auto& words : WordsOf(resolv_conf)) {
    if (words.size() < 2 || words[0] != "nameserver" || servers.size() == kServersMax) continue;
    if (auto server = ServerOf(words[1])) servers.push_back(*std::move(server));
  }
  return servers;
}

std::vector<std::string> AddressesIn(std::string_view hosts, std::string_view host) {
  std::vector<std::string> addresses;
  for (const auto& words : WordsOf(hosts)) {
    const bool named = std::any_of(words.begin() + 1, words.end(),
                                   [&](std::string_view name) { return SameName(name, host); });
    if (!named) continue;
    if (const auto address = AddressOf(words[0])) addresses.push_back(address->to_string());
  }
  return addresses;
}

Result<ResolverOptions> SystemResolver(const std::string& server, const std::string& prefix) {
  ResolverOptions options;
  if (auto hosts = ReadFile("/etc/hosts", kFileBytesMax); hosts.ok()) {
    options.hosts = *std::move(hosts);
  }
  if (!server.empty()) {
    auto address = ServerOf(server);
    if (!address) {
      return Status(Code::kInvalidArgument,
                    "DNS server \"" + server + "\" is not an address such as 1.1.1.1");
    }
    options.servers = {*std::move(address)};
    return options;
  }
  std::vector<std::string> files = {"/etc/resolv.conf"};
  if (!prefix.empty()) files.push_back(prefix + "/etc/resolv.conf");
  for (const std::string& file : files) {
    const auto text = ReadFile(file, kFileBytesMax);
    if (text.ok()) options.servers = ServersIn(*text);
    if (!options.servers.empty()) break;
  }
  return options;
}

}  // namespace shoal::os
