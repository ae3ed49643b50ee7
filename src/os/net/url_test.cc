#include "os/net/url.h"

#include <gtest/gtest.h>

namespace shoal::os {
namespace {

TEST(UrlTest, ReadsWhatItWrites) {
  for (const char* text : {"https://example.org/", "http://example.org/a/b.gguf?x=1&y=%20",
                           "http://10.0.0.1:8080/", "https://[::1]:8443/a", "https://h/?q"}) {
    const auto url = ParseUrl(text);
    ASSERT_TRUE(url.ok()) << url.status().ToString();
    EXPECT_EQ(url->ToString(), text);
  }
}

TEST(UrlTest, KnowsItsParts) {
  const Url url = *ParseUrl("HTTPS://Hugging.Example:444/O/n/resolve/main/a%20b.gguf?download=1#x");
  EXPECT_TRUE(url.https);
  EXPECT_EQ(url.host, "hugging.example");
  EXPECT_EQ(url.port, 444);
  EXPECT_EQ(url.target, "/O/n/resolve/main/a%20b.gguf?download=1");
  EXPECT_EQ(url.Authority(), "hugging.example:444");
  EXPECT_EQ(FileNameOf(url), "a b.gguf");
  EXPECT_EQ(ParseUrl("http://h")->port, 80);
  EXPECT_EQ(ParseUrl("http://h?q")->target, "/?q");
  EXPECT_EQ(ParseUrl("http://h:80/")->ToString(), "http://h/");
  EXPECT_EQ(ParseUrl("https://[FE80::1]/")->host, "fe80::1");
}

TEST(UrlTest, SaysWhatIsWrong) {
  for (const char* text :
       {"", "example.org/a", "ftp://h/", "http://", "http:///a", "http://h:/", "http://h:0/",
        "http://h:65536/", "http://h:8x/", "http://h:80a.example/", "http://user:pw@h/",
        "http://h/a b", "http://h/\r\nX: y", "http://[::1/", "http://[::1]x/", "http://[phone]/",
        "http://h%41/", "http://h\xc3\xa4/"}) {
    const auto url = ParseUrl(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument);
  }
  EXPECT_FALSE(ParseUrl("http://h/" + std::string(20000, 'a')).ok());
  EXPECT_FALSE(ParseUrl("http://" + std::string(254, 'a') + "/").ok());
}

TEST(UrlTest, FollowsReferences) {
  const Url base = *ParseUrl("https://h:444/a/b?c");
  const auto follow = [&](const char* reference) {
    const auto url = ResolveReference(base, reference);
    return url.ok() ? url->ToString() : "wrong";
  };
  EXPECT_EQ(follow("http://x/y"), "http://x/y");
  EXPECT_EQ(follow("//x/y"), "https://x/y");
  EXPECT_EQ(follow("/y?z"), "https://h:444/y?z");
  EXPECT_EQ(follow("y"), "https://h:444/a/y");
  EXPECT_EQ(follow("?z"), "https://h:444/a/b?z");
  EXPECT_EQ(follow(""), "https://h:444/a/b");
  EXPECT_EQ(follow("file:///etc/passwd"), "wrong");
  EXPECT_EQ(follow("javascript:x"), "wrong");
  EXPECT_EQ(follow("/a\nb"), "wrong");
}

TEST(UrlTest, AnOriginIsSchemeHostAndPort) {
  const Url base = *ParseUrl("https://h/a");
  EXPECT_TRUE(SameOrigin(base, *ParseUrl("https://H:443/b")));
  EXPECT_FALSE(SameOrigin(base, *ParseUrl("http://h/a")));
  EXPECT_FALSE(SameOrigin(base, *ParseUrl("https://h:444/a")));
  EXPECT_FALSE(SameOrigin(base, *ParseUrl("https://h.evil/a")));
}

TEST(UrlTest, EscapesPaths) {
  EXPECT_EQ(EscapePath("a/b c?d#e%\xc3\xa4.gguf"), "a/b%20c%3Fd%23e%25%C3%A4.gguf");
}

TEST(UrlTest, GivesOnlyNamesThatAFileMayHave) {
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/a/")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/a/..")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/%2e%2e")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/..%2f..%2fetc%2fpasswd")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/a%00b")), "");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/50%")), "50%");
  EXPECT_EQ(FileNameOf(*ParseUrl("http://h/x.gguf?a=/b")), "x.gguf");
}

}  // namespace
}  // namespace shoal::os
