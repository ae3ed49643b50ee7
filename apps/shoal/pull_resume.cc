#include "shoal/pull_resume.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "os/sha256.h"

namespace shoal {
namespace {

constexpr Duration kWaitMax = std::chrono::seconds(30);
// A server that wants a longer pause is not waited for.
constexpr std::uint64_t kRetryAfterSecondsMax = 300;

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// An ETag that promises the same bytes.
bool IsStrong(std::string_view etag) { return etag.size() > 2 && etag.starts_with('"'); }

bool KnownByHash(const PartInfo& info, const std::string& sha256) {
  return !sha256.empty() && info.sha256 == sha256;
}

struct ContentRange {
  std::optional<std::uint64_t> begin;  // Nothing: "*".
  std::uint64_t last = 0;
  std::optional<std::uint64_t> size;  // Nothing: "*".
};

// "bytes 5-9/10", "bytes */10".
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const std::size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = text.substr(kUnit.size(), slash - kUnit.size());
  ContentRange parsed;
  if (range != "*") {
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    parsed.begin = NumberOf(range.substr(0, dash));
    const auto last = NumberOf(range.substr(dash + 1));
    if (!parsed.begin || !last || *last < *parsed.begin) return std::nullopt;
    parsed.last = *last;
  }
  if (text.substr(slash + 1) == "*") return parsed;
  parsed.size = NumberOf(text.substr(slash + 1));
  if (!parsed.size || (parsed.begin && parsed.last >= *parsed.size)) return std::nullopt;
  return parsed;
}

// Whether the answer is a part of the same file that `info` describes.
bool SameFile(const os::HttpHead& head, const PartInfo& info, const std::string& sha256) {
  if (KnownByHash(info, sha256)) return true;
  const std::string_view etag = head.Header("ETag");
  if (!etag.empty() && !info.etag.empty()) return etag == info.etag;
  const std::string_view date = head.Header("Last-Modified");
  return date.empty() || info.last_modified.empty() || date == info.last_modified;
}

Decision DecidePartial(const os::HttpHead& head, const PartInfo& info, const std::string& sha256,
                       std::uint64_t bytes) {
  const auto range = ParseContentRange(head.Header("Content-Range"));
  const bool fits = range && range->begin == bytes && range->size &&
                    range->last + 1 == *range->size && (!info.size || *info.size == *range->size) &&
                    SameFile(head, info, sha256);
  if (fits) return {.next = Next::kAppend, .size = range->size};
  // Without a range in the request, an answer with one is nonsense.
  return {.next = bytes > 0 ? Next::kAskAgain : Next::kFail, .size = {}};
}

std::string_view Meaning(int status, bool token_sent) {
  switch (status) {
    case 401:
      return token_sent ? "unauthorised: HF_TOKEN is not accepted, or there is no such repository"
                        : "unauthorised: there is no such repository, or it is private or gated; "
                          "set HF_TOKEN to a token of your account";
    case 403:
      return "forbidden: accept the model's licence on its page and set HF_TOKEN, or the link has "
             "expired";
    case 404:
    case 410:
      return "not found: check the spelling";
    case 408:
    case 425:
      return "the server lost patience: try again";
    case 429:
      return "too many requests: try again later, with HF_TOKEN more are allowed";
    default:
      if (status >= 500) return "the server has a problem: try again later";
      return "not an answer to a download";
  }
}

}  // namespace

std::string ToJson(const PartInfo& info) {
  nlohmann::ordered_json json = {{"url", info.url},
                                 {"etag", info.etag},
                                 {"last_modified", info.last_modified},
                                 {"sha256", info.sha256}};
  if (info.size) json["size"] = *info.size;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

PartInfo ParsePartInfo(const std::string& json) {
  const auto object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) return {};
  const auto text = [&](const char* key) {
    return object.contains(key) && object[key].is_string() ? object[key].get<std::string>()
                                                           : std::string();
  };
  PartInfo info{.url = text("url"),
                .etag = text("etag"),
                .last_modified = text("last_modified"),
                .sha256 = text("sha256"),
                .size = {}};
  if (object.contains("size") && object["size"].is_number_unsigned()) {
    info.size = object["size"].get<std::uint64_t>();
  }
  return info;
}

bool MayResume(const PartInfo& info, const std::string& url, const std::string& sha256) {
  if (info.url != url) return false;
  // Bytes that came for another hash will not give this one.
  if (!sha256.empty() && !info.sha256.empty() && info.sha256 != sha256) return false;
  return KnownByHash(info, sha256) || IsStrong(info.etag) || !info.last_modified.empty();
}

os::HttpHeaders ResumeHeaders(const PartInfo& info, const std::string& sha256,
                              std::uint64_t bytes) {
  os::HttpHeaders headers = {{"Range", fmt::format("bytes={}-", bytes)}};
  // The hash is checked at the end; a CDN's ETag may change where the file does not.
  if (!KnownByHash(info, sha256)) {
    headers.emplace_back("If-Range", IsStrong(info.etag) ? info.etag : info.last_modified);
  }
  return headers;
}

Decision DecideNext(const os::HttpHead& head, std::optional<std::uint64_t> body_size,
                    const PartInfo& info, const std::string& sha256, std::uint64_t bytes) {
  if (head.status == 200) return {.next = Next::kStartOver, .size = body_size};
  if (head.status == 206) return DecidePartial(head, info, sha256, bytes);
  if (head.status != 416 || bytes == 0) return {.next = Next::kFail, .size = {}};
  // There is nothing behind `bytes`: all is here, or the file is another one now.
  const auto range = ParseContentRange(head.Header("Content-Range"));
  const auto size = range && range->size ? range->size : info.size;
  if (size == bytes && (!info.size || info.size == size)) {
    return {.next = Next::kComplete, .size = size};
  }
  return {.next = Next::kAskAgain, .size = {}};
}

Status HttpFailure(const os::HttpHead& head, bool token_sent) {
  const std::string url = head.url.ToString();
  const std::string text =
      fmt::format("{}: the server answers {}, {}", url.substr(0, url.find('?')), head.status,
                  Meaning(head.status, token_sent));
  switch (head.status) {
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return {Code::kUnavailable, text};
    case 404:
    case 410:
      return {Code::kNotFound, text};
    default:
      return {Code::kInvalidArgument, text};
  }
}

std::string LinkedSha256(const os::HttpHead& head) {
  std::string hash(head.Header("X-Linked-Etag"));
  std::erase(hash, '"');
  if (!os::IsSha256(hash)) return {};
  std::transform(hash.begin(), hash.end(), hash.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return hash;
}

std::optional<Duration> Backoff::Next(std::string_view retry_after) {
  if (failures_ >= tries_) return std::nullopt;
  Duration wait = first_;
  for (int i = 0; i < failures_ && wait < kWaitMax; ++i) wait *= 2;
  ++failures_;
  wait = std::min(wait, kWaitMax);
  const auto asked = NumberOf(retry_after);
  if (!asked) return wait;
  if (*asked > kRetryAfterSecondsMax) return std::nullopt;
  return std::max<Duration>(wait, std::chrono::seconds(*asked));
}

}  // namespace shoal
