#include "shoal/pull_hub.h"

#include <utility>

#include "shoal/pull_download.h"

namespace shoal {
namespace {

// A page has at most 1000 files of some 200 bytes; the largest repositories have some thousand.
constexpr std::size_t kListingBytesMax = std::size_t{16} << 20;
constexpr int kPagesMax = 100;

bool IsLoopback(const os::Url& url) {
  return url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

struct Page {
  std::vector<RemoteFile> files;
  std::string next;
};

// Why a page did not come.
struct Trouble {
  bool may_pass = false;
  bool unreachable = false;
  std::string retry_after;
};

// One page of the listing.
Result<Page> GetPage(os::HttpClient& client, const Hub& hub, const os::Url& url, Trouble& trouble) {
  const os::HttpHeaders token = TokenFor(hub, url);
  auto response = client.Get({.url = url, .headers = {}, .private_headers = token});
  const auto may_pass = [](const Status& status) {
    return status.code() == Code::kUnavailable || status.code() == Code::kDeadlineExceeded;
  };
  if (!response.ok()) {
    trouble.unreachable = true;
    trouble.may_pass = may_pass(response.status());
    return std::move(response).status();
  }
  if (response->head().status != 200) {
    trouble.retry_after = response->head().Header("Retry-After");
    Status failure = HttpFailure(response->head(), !token.empty());
    trouble.may_pass = may_pass(failure);
    return failure;
  }
  const auto body = response->ReadAll(kListingBytesMax);
  if (!body.ok()) {
    trouble.may_pass = may_pass(body.status());
    return body.status();
  }
  auto files = ParseListing(*body);
  if (!files.ok()) return std::move(files).status().Annotate(url.ToString());
  return Page{.files = *std::move(files), .next = NextPage(response->head().Header("Link"))};
}

}  // namespace

Result<os::Url> ParseEndpointUrl(const std::string& text) {
  SHOAL_ASSIGN_OR_RETURN(os::Url url, os::ParseUrl(text));
  if (url.target.find('?') != std::string::npos) {
    return Status(Code::kInvalidArgument, "endpoint \"" + text + "\" has a query");
  }
  while (url.target.ends_with('/')) url.target.pop_back();
  return url;
}

os::HttpHeaders TokenFor(const Hub& hub, const os::Url& url) {
  if (hub.token.empty() || !os::SameOrigin(hub.endpoint, url)) return {};
  if (!url.https && !IsLoopback(url)) return {};
  return {{"Authorization", "Bearer " + hub.token}};
}

Result<os::Url> FileUrl(const Hub& hub, const RepositoryId& id, const std::string& path) {
  return os::ParseUrl(hub.endpoint.ToString() + "/" + id.ToString() + "/resolve/" +
                      os::EscapePath(hub.revision) + "/" + os::EscapePath(path));
}

os::Url WithoutPage(const Hub& hub, os::Url url) {
  constexpr std::string_view kPage = "/blob/";
  const std::size_t at = url.target.find(kPage);
  if (os::SameOrigin(hub.endpoint, url) && at != std::string::npos) {
    url.target.replace(at, kPage.size(), "/resolve/");
  }
  return url;
}

Result<std::vector<RemoteFile>> ListRepository(os::Loop& loop, os::HttpClient& client,
                                               const Hub& hub, const RepositoryId& id,
                                               Backoff backoff, Progress& progress,
                                               bool& unreachable) {
  SHOAL_ASSIGN_OR_RETURN(os::Url url,
                         os::ParseUrl(hub.endpoint.ToString() + "/api/models/" + id.ToString() +
                                      "/tree/" + os::EscapePath(hub.revision) + "?recursive=true"));
  std::vector<RemoteFile> files;
  for (int pages = 0; pages < kPagesMax;) {
    Trouble trouble;
    auto page = GetPage(client, hub, url, trouble);
    unreachable = trouble.unreachable;
    if (!page.ok() && trouble.may_pass) {
      SHOAL_RETURN_IF_ERROR(
          WaitToRetry(loop, backoff, progress, page.status(), trouble.retry_after));
      continue;
    }
    if (!page.ok()) return std::move(page).status();
    backoff.Reset();
    ++pages;
    files.insert(files.end(), page->files.begin(), page->files.end());
    if (page->next.empty()) return files;
    SHOAL_ASSIGN_OR_RETURN(url, os::ResolveReference(url, page->next));
  }
  return Status(Code::kResourceExhausted, id.ToString() + " has too many files");
}

}  // namespace shoal
