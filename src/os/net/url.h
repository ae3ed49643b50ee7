// URLs of http and https, as far as a client needs them. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::os {

struct Url {
  bool https = true;
  std::string host;  // Lower case; an IPv6 address without its brackets.
  std::uint16_t port = 443;
  std::string target = "/";  // Path and query, as they go into a request.

  bool operator==(const Url&) const = default;
  // "https://host[:port]/path?query"; the port only if it is not the scheme's own.
  std::string ToString() const;
  // "host[:port]", as it goes into a request.
  std::string Authority() const;
};

// kInvalidArgument: the message quotes `text` and says what is wrong with it. Names and
// passwords in front of the host are refused, white space and control characters too;
// what follows '#' is dropped.
Result<Url> ParseUrl(std::string_view text);

// What a Location header on the page `base` means: a whole URL, "//host/path", "/path",
// "?query" or "path".
Result<Url> ResolveReference(const Url& base, std::string_view reference);

// The same scheme, host and port: a secret for the one may be told to the other.
bool SameOrigin(const Url& a, const Url& b);

// `path` with everything escaped that has a meaning in a URL, except '/'.
std::string EscapePath(std::string_view path);

// The last part of the path with escapes undone; empty if it ends with '/', or if it
// could not be the name of a file here ("..", a '/' in it, control characters).
std::string FileNameOf(const Url& url);

}  // namespace shoal::os
