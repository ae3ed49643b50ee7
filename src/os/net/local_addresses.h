// At which addresses others may reach this machine.
#pragma once

#include <string>
#include <vector>

namespace shoal::os {

// IPv4 first, without loopback and link-local ones: "192.168.1.5", "2001:db8::5". Empty if
// the machine is not in any network. Where an app may not list its interfaces (Android 11
// and later), only those that the routes to the Internet would use.
std::vector<std::string> LocalAddresses();

// "192.168.1.5:7401", "[2001:db8::5]:7401".
std::string WithPort(const std::string& address, unsigned port);

}  // namespace shoal::os
