// One file from a URL onto the disk: resumed, retried, checked, and under its name only
// when it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/http_client.h"
#include "shoal/pull_progress.h"
#include "shoal/pull_resume.h"

namespace shoal {

struct DownloadJob {
  os::Url url;
  os::HttpHeaders private_headers;    // A token; only for the URL's own host.
  std::string out;                    // Bytes wait in `out`.part, what they are in `out`.part.json.
  std::string sha256;                 // Expected, lower case; empty: what the server says.
  std::optional<std::uint64_t> size;  // Expected.
  bool replace = false;               // A file called `out` may be there.
  int tries = 5;                      // After a failure, without progress between.
  Duration first_wait = std::chrono::seconds(1);
};

struct Download {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;
  bool verified = false;       // Compared with an expected hash.
  bool already_there = false;  // With the expected hash, before we came.
};

// Waits until the file is there or it is given up. What has come stays in `out`.part for
// the next time, except: a file with a wrong hash becomes `out`.wrong, and one that is not
// what its name says is deleted. kResourceExhausted: the disk has no room for it.
Result<Download> DownloadFile(os::Loop& loop, os::HttpClient& client, const DownloadJob& job,
                              Progress& progress);

// Waits and counts a failure if trying again makes sense; else returns `failure`.
Status WaitToRetry(os::Loop& loop, Backoff& backoff, Progress& progress, const Status& failure,
                   std::string_view retry_after);

// OK if `bytes` more fit onto the disk of the file `out`.
Status CheckRoom(const std::string& out, std::uint64_t bytes);

// What to type where we cannot connect: the same download with curl.
std::string CurlLine(const os::Url& url, const std::string& out, bool with_token);

}  // namespace shoal
