#include <gtest/gtest.h>

#include "os/net/endpoint_internal.h"

namespace shoal::os {
namespace {

TEST(Endpoint, ReadsWhatItWrites) {
  for (const char* address : {"192.168.1.7:7400", "0.0.0.0:0", "[::1]:65535", "[fe80::1]:7400"}) {
    const auto endpoint = ParseEndpoint(address);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().ToString();
    EXPECT_EQ(FormatEndpoint(*endpoint), address);
  }
}

TEST(Endpoint, SaysWhatIsWrong) {
  for (const char* address :
       {"", "192.168.1.7", "192.168.1.7:", "192.168.1.7:65536", "192.168.1.7:7x", "phone:7400",
        "1.2.3:4", "::1:7400", "[1.2.3.4]:7400", "[::1:7400", "1.2.3.4:-1", ":7400", "[]:1"}) {
    const auto endpoint = ParseEndpoint(address);
    ASSERT_FALSE(endpoint.ok()) << address;
    EXPECT_EQ(endpoint.status().code(), Code::kInvalidArgument);
    EXPECT_NE(endpoint.status().message().find('"' + std::string(address) + '"'),
              std::string::npos);
  }
  EXPECT_EQ(ParseEndpoint("localhost:7400").status().message(),
            "address \"localhost:7400\": the host is not an IPv4 address or an IPv6 address in "
            "brackets");
}

}  // namespace
}  // namespace shoal::os
