// Hugging Face, or a server that answers like it: what a repository holds and where.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "os/loop.h"
#include "os/net/http_client.h"
#include "os/net/url.h"
#include "shoal/pull_listing.h"
#include "shoal/pull_progress.h"
#include "shoal/pull_resume.h"

namespace shoal {

struct Hub {
  os::Url endpoint;      // https://huggingface.co
  std::string revision;  // A branch, a tag or a commit.
  std::string token;     // Empty: none.
};

// kInvalidArgument: a URL with a query, or none.
Result<os::Url> ParseEndpointUrl(const std::string& text);

// The header with the token if `url` is the hub's and nobody on the way can read it.
os::HttpHeaders TokenFor(const Hub& hub, const os::Url& url);

// Where a file is. kInvalidArgument: the path cannot be in a URL.
Result<os::Url> FileUrl(const Hub& hub, const RepositoryId& id, const std::string& path);

// A link as people copy it from the page of a file leads to the page (/blob/); the file
// itself is at /resolve/. Other links stay as they are.
os::Url WithoutPage(const Hub& hub, os::Url url);

// All files of the repository. Waits and tries again as `backoff` says. `unreachable`: after
// a failure, whether no answer came at all.
Result<std::vector<RemoteFile>> ListRepository(os::Loop& loop, os::HttpClient& client,
                                               const Hub& hub, const RepositoryId& id,
                                               Backoff backoff, Progress& progress,
                                               bool& unreachable);

}  // namespace shoal
