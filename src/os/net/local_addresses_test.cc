#include "os/net/local_addresses.h"

#include <gtest/gtest.h>

#include "os/net/endpoint_internal.h"

namespace shoal::os {
namespace {

TEST(LocalAddresses, AreAddressesThatOthersCanUse) {
  for (const std::string& address : LocalAddresses()) {  // May be none.
    const auto endpoint = ParseEndpoint(WithPort(address, 7401));
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().ToString();
    EXPECT_FALSE(endpoint->address().is_loopback()) << address;
    EXPECT_FALSE(endpoint->address().is_unspecified()) << address;
  }
}

TEST(LocalAddresses, GetAPort) {
  EXPECT_EQ(WithPort("192.168.1.5", 7401), "192.168.1.5:7401");
  EXPECT_EQ(WithPort("2001:db8::5", 7401), "[2001:db8::5]:7401");
}

TEST(LocalAddresses, TowardsItselfItIsLoopback) {
  EXPECT_EQ(LocalAddressTowards("127.0.0.1:7400"), "127.0.0.1");
  EXPECT_EQ(LocalAddressTowards("nowhere"), std::nullopt);
}

}  // namespace
}  // namespace shoal::os
