// Addresses as users write them. No names: a static program on a phone has no
// resolver worth trusting, and the coordinator hands out numbers.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <string>

#include "base/status.h"

namespace shoal::os {

// "192.168.1.7:7400", "[fe80::1%wlan0]:7400". kInvalidArgument: the message quotes
// `address` and says what is wrong with it.
Result<boost::asio::ip::tcp::endpoint> ParseEndpoint(const std::string& address);

// The inverse of ParseEndpoint.
std::string FormatEndpoint(const boost::asio::ip::tcp::endpoint& endpoint);

// Who is at the other end of `socket`, without the port; "somebody" if it has gone.
std::string RemoteAddress(const boost::asio::ip::tcp::socket& socket);

}  // namespace shoal::os
