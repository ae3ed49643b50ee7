// How a download goes on: decisions from what is on disk and what the server says. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "os/net/http_client.h"

namespace shoal {

// What FILE.part holds the beginning of. Kept beside it, as FILE.part.json.
struct PartInfo {
  std::string url;
  std::string etag;
  std::string last_modified;
  std::string sha256;  // Expected; empty: not known.
  std::optional<std::uint64_t> size;
  bool operator==(const PartInfo&) const = default;
};
std::string ToJson(const PartInfo& info);
// Of a broken file: one that permits nothing.
PartInfo ParsePartInfo(const std::string& json);

// Whether bytes that came with `info` may be followed by bytes of `url` now: the same URL,
// and either the same expected hash or a way for the server to notice a change.
bool MayResume(const PartInfo& info, const std::string& url, const std::string& sha256);

// The headers that ask for the rest behind `bytes`. REQUIRES: MayResume, bytes > 0.
os::HttpHeaders ResumeHeaders(const PartInfo& info, const std::string& sha256, std::uint64_t bytes);

enum class Next : std::uint8_t {
  kAppend,     // The body continues the file.
  kStartOver,  // The body is the whole file: drop what is there.
  kComplete,   // There is nothing more to come.
  kAskAgain,   // What is there is of no use: drop it and ask for the whole file.
  kFail,       // An error of the server (HttpFailure).
};

struct Decision {
  Next next = Next::kFail;
  std::optional<std::uint64_t> size;  // Of the whole file, if the server says.
  bool operator==(const Decision&) const = default;
};

// After `head` came in answer to a request for what is behind `bytes` (0: for all of it).
Decision DecideNext(const os::HttpHead& head, std::optional<std::uint64_t> body_size,
                    const PartInfo& info, const std::string& sha256, std::uint64_t bytes);

// What a status other than success means and what to do about it, naming the URL. Kinds to
// be tried again are kUnavailable.
Status HttpFailure(const os::HttpHead& head, bool token_sent);

// The hash by which Hugging Face knows the file, if a head on the way has it; else empty.
std::string LinkedSha256(const os::HttpHead& head);

// How long to wait before trying again, longer each time.
class Backoff {
 public:
  Backoff(int tries, Duration first) : tries_(tries), first_(first) {}
  // Nothing: it was tried often enough, or the server asks for more patience than we have.
  // `retry_after`: the header of that name; what is not a number of seconds is ignored.
  std::optional<Duration> Next(std::string_view retry_after = {});
  // After progress: begins again.
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  int tries_;
  Duration first_;
  int failures_ = 0;
};

}  // namespace shoal
