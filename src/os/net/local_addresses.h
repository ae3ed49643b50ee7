// At which addresses others may reach this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shoal::os {

// IPv4 first, without loopback and link-local ones: "192.168.1.5", "2001:db8::5". Empty if
// the machine is not in any network. Where an app may not list its interfaces (Android 11
// and later), only those that the routes to the Internet would use.
std::vector<std::string> LocalAddresses();

// The address from which this machine would speak to `endpoint` ("192.168.1.5:7400"), and at which
// others of that network reach it; loopback towards itself. Nothing: it cannot.
std::optional<std::string> LocalAddressTowards(const std::string& endpoint);

// "192.168.1.5:7401", "[2001:db8::5]:7401".
std::string WithPort(const std::string& address, unsigned port);

}  // namespace shoal::os
