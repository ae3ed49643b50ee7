#include "shoal/head_call.h"

#include <fmt/core.h>

#include <cstddef>
#include <utility>

#include "os/cluster/head_directory.h"
#include "os/loop.h"
#include "os/net/http_client.h"
#include "os/net/url.h"
#include "shoal/cluster_home.h"
#include "shoal/serve_file.h"

namespace shoal {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;

}  // namespace

Result<nlohmann::json> CallHead(const std::string& dir, const std::string& path,
                                const std::optional<std::string>& body) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(dir));
  SHOAL_ASSIGN_OR_RETURN(const os::HeadDirectory directory, os::HeadDirectory::Open(home));
  const Result<ServeAddresses> addresses = ReadServeFile(home);
  if (!addresses.ok()) {
    return Status(Code::kUnavailable,
                  "no head runs here; start `shoal serve` (" + addresses.status().ToString() + ")");
  }
  if (addresses->http.empty()) {
    return Status(Code::kUnavailable, "the head that ran here last trains, and answers nobody");
  }
  os::Loop loop;
  os::HttpClient client(loop, {});
  os::HttpRequest request;
  SHOAL_ASSIGN_OR_RETURN(request.url, os::ParseUrl("http://" + addresses->http + path));
  request.private_headers = {{"Authorization", "Bearer " + directory.admin_key()}};
  Result<os::HttpResponse> response =
      body ? client.Post(request, "application/json", *body) : client.Get(request);
  if (!response.ok()) return std::move(response).status().Annotate("the head does not answer");
  SHOAL_ASSIGN_OR_RETURN(const std::string text, response->ReadAll(kAnswerBytesMax));
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  if (response->head().status == 200 && answer.is_object()) return answer;
  const auto error = answer.is_object() ? answer.find("error") : answer.end();
  if (error != answer.end() && error->is_object() && error->contains("message") &&
      (*error)["message"].is_string()) {
    return Status(Code::kInvalidArgument, (*error)["message"].get<std::string>());
  }
  return Status(Code::kUnavailable,
                fmt::format("the head answers with status {}", response->head().status));
}

}  // namespace shoal
