#include "os/net/url.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace shoal::os {
namespace {

// Far above any link that a person or a server makes.
constexpr std::size_t kUrlBytesMax = 16384;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

Status Wrong(std::string_view text, const char* problem) {
  return {Code::kInvalidArgument,
          "URL \"" + std::string(text.substr(0, 200)) + "\": " + std::string(problem)};
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Takes the scheme off the front; false: there is none of ours, and nothing is taken.
bool TakeScheme(std::string_view& text, bool& https) {
  const std::string lower = ToLower(text.substr(0, 8));
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!lower.starts_with(scheme)) continue;
    https = scheme.size() == 8;
    text.remove_prefix(scheme.size());
    return true;
  }
  return false;
}

bool IsHostCharacter(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
}

bool IsIpv6Character(unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; }

// "host", "host:port", "[v6]", "[v6]:port" into `url`; what is wrong with it, or nullptr.
const char* ReadAuthority(std::string_view authority, Url& url) {
  if (authority.find('@') != std::string_view::npos) {
    return "a name or password in it is not supported";
  }
  std::string_view host = authority;
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return "the bracket is not closed";
    host = authority.substr(1, end - 1);
    std::string_view rest = authority.substr(end + 1);
    has_port = rest.starts_with(':');
    if (!has_port && !rest.empty()) return "something follows the bracket";
    if (has_port) port = rest.substr(1);
    if (!std::all_of(host.begin(), host.end(), IsIpv6Character))
      return "the host is not an address";
  } else {
    const std::size_t colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon + 1);
    if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) {
      return "the host has characters that no name has";
    }
  }
  if (host.empty() || host.size() > 253) return "it has no host, or one that is too long";
  url.host = ToLower(host);
  url.port = url.https ? kHttpsPort : kHttpPort;
  if (!has_port) return nullptr;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0) {
    return "the port is not a number from 1 to 65535";
  }
  return nullptr;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Url::Authority() const {
  std::string text = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  if (port != (https ? kHttpsPort : kHttpPort)) text += ":" + std::to_string(port);
  return text;
}

std::string Url::ToString() const {
  return (https ? "https://" : "http://") + Authority() + target;
}

Result<Url> ParseUrl(std::string_view text) {
  if (text.size() > kUrlBytesMax) return Wrong(text, "too long");
  // Such a byte in a request would end its line; beyond ASCII the server would have to guess.
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return Wrong(text, "spaces, control and non-ASCII characters must be written as %XX");
  }
  std::string_view rest = text.substr(0, text.find('#'));
  Url url;
  if (!TakeScheme(rest, url.https)) return Wrong(text, "does not begin with http:// or https://");
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  if (const char* problem = ReadAuthority(rest.substr(0, end), url)) return Wrong(text, problem);
  url.target = rest.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

Result<Url> ResolveReference(const Url& base, std::string_view reference) {
  Url site = base;
  site.target.clear();
  bool https = false;
  if (std::string_view copy = reference; TakeScheme(copy, https)) return ParseUrl(reference);
  if (reference.starts_with("//")) {
    return ParseUrl((base.https ? "https:" : "http:") + std::string(reference));
  }
  const std::string path = base.target.substr(0, base.target.find('?'));
  std::string target(reference);
  if (reference.starts_with('?') || reference.empty()) {
    target.insert(0, path);
  } else if (!reference.starts_with('/')) {
    const std::size_t colon = reference.find(':');
    if (colon < reference.find_first_of("/?#")) return Wrong(reference, "not http or https");
    target.insert(0, path.substr(0, path.rfind('/') + 1));
  }
  return ParseUrl(site.ToString() + target);
}

bool SameOrigin(const Url& a, const Url& b) {
  return a.https == b.https && a.host == b.host && a.port == b.port;
}

std::string EscapePath(std::string_view path) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '/' || c == '-' ||
                                       c == '.' || c == '_' || c == '~');
    if (plain) {
      escaped += c;
    } else {
      escaped += '%';
      escaped += kDigits[byte >> 4U];
      escaped += kDigits[byte & 15U];
    }
  }
  return escaped;
}

std::string FileNameOf(const Url& url) {
  const std::string path = url.target.substr(0, url.target.find('?'));
  const std::string escaped = path.substr(path.rfind('/') + 1);
  std::string name;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '%' && i + 2 < escaped.size() && HexDigit(escaped[i + 1]) >= 0 &&
        HexDigit(escaped[i + 2]) >= 0) {
      name += static_cast<char>(HexDigit(escaped[i + 1]) * 16 + HexDigit(escaped[i + 2]));
      i += 2;
    } else {
      name += escaped[i];
    }
  }
  const bool bad = name == "." || name == ".." || name.size() > 200 ||
                   std::any_of(name.begin(), name.end(), [](unsigned char c) {
                     return c < ' ' || c == 0x7f || c == '/' || c == '\\';
                   });
  return bad ? std::string() : name;
}

}  // namespace shoal::os
