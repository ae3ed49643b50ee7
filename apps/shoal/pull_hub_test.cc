#include "shoal/pull_hub.h"

#include <gtest/gtest.h>

#include "shoal/pull_download.h"

namespace shoal {
namespace {

Hub HubAt(const std::string& endpoint) {
  return {.endpoint = *ParseEndpointUrl(endpoint), .revision = "main", .token = "secret"};
}

TEST(PullHubTest, KnowsWhereAFileIs) {
  const RepositoryId id{.owner = "o", .name = "n", .file = {}};
  EXPECT_EQ(FileUrl(HubAt("https://hub.example"), id, "sub/a b.gguf")->ToString(),
            "https://hub.example/o/n/resolve/main/sub/a%20b.gguf");
  EXPECT_EQ(FileUrl(HubAt("http://10.0.0.1:8080/mirror/"), id, "a")->ToString(),
            "http://10.0.0.1:8080/mirror/o/n/resolve/main/a");
  EXPECT_FALSE(ParseEndpointUrl("https://h/?x").ok());
  EXPECT_FALSE(ParseEndpointUrl("hub.example").ok());
}

TEST(PullHubTest, TheTokenIsForTheHubAlone) {
  const os::HttpHeaders token = {{"Authorization", "Bearer secret"}};
  const Hub hub = HubAt("https://hub.example");
  EXPECT_EQ(TokenFor(hub, *os::ParseUrl("https://hub.example/x")), token);
  EXPECT_TRUE(TokenFor(hub, *os::ParseUrl("https://cdn.hub.example/x")).empty());
  EXPECT_TRUE(TokenFor(hub, *os::ParseUrl("http://hub.example/x")).empty());
  EXPECT_TRUE(TokenFor(hub, *os::ParseUrl("https://hub.example:8443/x")).empty());
  // In the open only where nobody listens.
  EXPECT_TRUE(TokenFor(HubAt("http://hub.example"), *os::ParseUrl("http://hub.example/")).empty());
  EXPECT_EQ(TokenFor(HubAt("http://127.0.0.1:1"), *os::ParseUrl("http://127.0.0.1:1/")), token);
  Hub without = hub;
  without.token.clear();
  EXPECT_TRUE(TokenFor(without, *os::ParseUrl("https://hub.example/x")).empty());
}

TEST(PullHubTest, ALinkToThePageMeansTheFile) {
  const Hub hub = HubAt("https://hub.example");
  const auto fixed = [&](const char* url) {
    return WithoutPage(hub, *os::ParseUrl(url)).ToString();
  };
  EXPECT_EQ(fixed("https://hub.example/o/n/blob/main/a.gguf"),
            "https://hub.example/o/n/resolve/main/a.gguf");
  EXPECT_EQ(fixed("https://other.example/o/n/blob/main/a"),
            "https://other.example/o/n/blob/main/a");
  EXPECT_EQ(fixed("https://hub.example/o/n/resolve/main/a"),
            "https://hub.example/o/n/resolve/main/a");
}

TEST(PullHubTest, WritesACurlLineThatAShellTakes) {
  const os::Url url = *os::ParseUrl("https://h/a?b&c");
  EXPECT_EQ(CurlLine(url, "it's", false), "curl -L -C - -o 'it'\\''s' 'https://h/a?b&c'");
  EXPECT_EQ(CurlLine(url, "a", true),
            "curl -L -C - -H \"Authorization: Bearer $HF_TOKEN\" -o 'a' 'https://h/a?b&c'");
}

}  // namespace
}  // namespace shoal
