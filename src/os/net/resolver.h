// Names into addresses, with a DNS client of our own: the static program has no resolver
// that works on Android. One way for all builds. Waits; nothing is kept between calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"

namespace shoal::os {

struct ResolverOptions {
  std::vector<std::string> servers;  // "10.0.0.1:53", "[::1]:53", in the order to be asked.
  std::string hosts;                 // The text of /etc/hosts.
  int rounds = 3;                    // Every server is asked so often ...
  Duration patience = std::chrono::seconds(2);  // ... and has so long; twice that the next time.
};

// `server` ("1.1.1.1", "1.1.1.1:53", "[::1]:53") if it is not empty; else what /etc/resolv.conf
// and `prefix`/etc/resolv.conf (Termux's) name, which may be nothing. And the hosts file.
// kInvalidArgument: `server` is not an address.
Result<ResolverOptions> SystemResolver(const std::string& server, const std::string& prefix);

// The addresses of `host`, in the order to be tried: IPv4 and IPv6 in turns, because either
// may lead nowhere. An address is its own; localhost is known. kNotFound: there is no such
// host. kInvalidArgument: no server is known, or not a name. kUnavailable: no server answers.
Result<std::vector<std::string>> Resolve(Loop& loop, const ResolverOptions& options,
                                         const std::string& host);

// The servers in the text of a resolv.conf, with ports.
std::vector<std::string> ServersIn(std::string_view resolv_conf);

// The addresses of `host` in the text of a hosts file.
std::vector<std::string> AddressesIn(std::string_view hosts, std::string_view host);

}  // namespace shoal::os
