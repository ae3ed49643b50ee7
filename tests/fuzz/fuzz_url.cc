// Whatever a server sends as a Location or as the list of a repository: a URL that is written and
// read again as the same one, files with names, or a Status.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "os/net/url.h"
#include "shoal/pull_listing.h"

namespace {

void CheckUrl(const shoal::Result<shoal::os::Url>& url) {
  if (!url.ok()) {
    SHOAL_CHECK(url.status().code() == shoal::Code::kInvalidArgument);
    return;
  }
  const auto again = shoal::os::ParseUrl(url->ToString());
  SHOAL_CHECK(again.ok() && *again == *url);
  const std::string name = shoal::os::FileNameOf(*url);
  SHOAL_CHECK(name.find('/') == std::string::npos && name != "..");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckUrl(shoal::os::ParseUrl(text));
  const shoal::os::Url page = {.host = "hub.example", .target = "/a/b?c=d"};
  CheckUrl(shoal::os::ResolveReference(page, text));
  (void)shoal::NextPage(text);
  (void)shoal::ParseRepositoryId(text).ok();
  if (const auto files = shoal::ParseListing(text); files.ok()) {
    for (const shoal::RemoteFile& file : *files) SHOAL_CHECK(!file.path.empty());
  }
  return 0;
}
