#include "os/net/local_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "os/net/endpoint_internal.h"
#include "os/unique_fd.h"

namespace shoal::os {
namespace {

constexpr std::uint32_t kLinkLocal4 = 0xa9fe0000;  // 169.254.0.0/16
constexpr std::uint32_t kMask16 = 0xffff0000;

template <class Address>
Address As(const sockaddr* from) {
  Address address{};  // Copied: the memory may not be aligned for it.
  std::memcpy(&address, from, sizeof(address));
  return address;
}

std::string Format(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) != nullptr ? text.data() : "";
}

// Nothing: others cannot use it.
std::optional<std::string> Reachable(const sockaddr* from) {
  if (from == nullptr) return std::nullopt;
  if (from->sa_family == AF_INET) {
    const in_addr address = As<sockaddr_in>(from).sin_addr;
    const std::uint32_t number = ntohl(address.s_addr);
    if (number == 0 || number >> 24U == 127 || (number & kMask16) == kLinkLocal4) {
      return std::nullopt;
    }
    return Format(AF_INET, &address);
  }
  if (from->sa_family == AF_INET6) {
    const in6_addr address = As<sockaddr_in6>(from).sin6_addr;
    // A link-local one needs the name of an interface, which is another one on a phone.
    if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address) ||
        IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_V4MAPPED(&address)) {
      return std::nullopt;
    }
    return Format(AF_INET6, &address);
  }
  return std::nullopt;
}

std::vector<std::string> FromInterfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::vector<std::string> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      if ((entry->ifa_flags & IFF_UP) == 0) continue;
      if (auto address = Reachable(entry->ifa_addr)) found.push_back(*std::move(address));
    }
  }
  ::freeifaddrs(list);
  return found;
}

// Which address the kernel would send from. Connecting a UDP socket sends nothing.
std::optional<sockaddr_storage> SourceTowards(const sockaddr* to, std::size_t to_size) {
  const UniqueFd fd(::socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || ::connect(fd.get(), to, static_cast<socklen_t>(to_size)) != 0) {
    return std::nullopt;
  }
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return std::nullopt;
  return own;
}

template <class Address>
void AddSourceTowards(const Address& destination, std::vector<std::string>& found) {
  const auto own =
      SourceTowards(reinterpret_cast<const sockaddr*>(&destination), sizeof(destination));
  if (!own) return;
  if (auto address = Reachable(reinterpret_cast<const sockaddr*>(&*own))) {
    found.push_back(*std::move(address));
  }
}

std::vector<std::string> FromRoutes() {
  constexpr in_port_t kAnyPort = 9;
  sockaddr_in internet{};
  internet.sin_family = AF_INET;
  internet.sin_port = htons(kAnyPort);
  ::inet_pton(AF_INET, "192.0.2.1", &internet.sin_addr);  // For examples: nobody's address.
  sockaddr_in6 internet6{};
  internet6.sin6_family = AF_INET6;
  internet6.sin6_port = htons(kAnyPort);
  ::inet_pton(AF_INET6, "2001:db8::1", &internet6.sin6_addr);
  std::vector<std::string> found;
  AddSourceTowards(internet, found);
  AddSourceTowards(internet6, found);
  return found;
}

}  // namespace

std::vector<std::string> LocalAddresses() {
  std::vector<std::string> found = FromInterfaces();
  return found.empty() ? FromRoutes() : found;
}

std::optional<std::string> LocalAddressTowards(const std::string& endpoint) {
  const auto parsed = ParseEndpoint(endpoint);
  if (!parsed.ok()) return std::nullopt;
  const auto own = SourceTowards(parsed->data(), parsed->size());
  if (!own) return std::nullopt;
  const auto* address = reinterpret_cast<const sockaddr*>(&*own);
  if (address->sa_family == AF_INET) {
    const in_addr number = As<sockaddr_in>(address).sin_addr;
    return Format(AF_INET, &number);
  }
  const in6_addr number = As<sockaddr_in6>(address).sin6_addr;
  return Format(AF_INET6, &number);
}

std::string WithPort(const std::string& address, unsigned port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace shoal::os
