// `shoal nodes`: who is in the cluster, and telling nodes to leave. Speaks to the head that runs on
// this machine.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

#include "os/cluster/head_directory.h"
#include "os/loop.h"
#include "os/net/http_client.h"
#include "os/net/url.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/serve_file.h"

namespace shoal {
namespace {

struct NodesOptions {
  std::string dir;
  bool json = false;
  std::uint64_t node = 0;
  std::string label;
};

constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;

// GET without a body, else POST.
Result<nlohmann::json> Call(const NodesOptions& options, const std::string& path,
                            const std::optional<std::string>& body) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  SHOAL_ASSIGN_OR_RETURN(const os::HeadDirectory directory, os::HeadDirectory::Open(home));
  const Result<ServeAddresses> addresses = ReadServeFile(home);
  if (!addresses.ok()) {
    return Status(Code::kUnavailable,
                  "no head runs here; start `shoal serve` (" + addresses.status().ToString() + ")");
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

std::string Cell(const nlohmann::json& node, const char* name) {
  const auto found = node.find(name);
  if (found == node.end() || found->is_null()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Status List(const NodesOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const nlohmann::json answer, Call(options, "/shoal/nodes", std::nullopt));
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
    return {};
  }
  fmt::print("{:>5}  {:<20} {:<9} {:<7} {:<10} {:<22}\n", "node", "label", "state", "replica",
             "layers", "address");
  const auto nodes = answer.find("nodes");
  if (nodes == answer.end() || !nodes->is_array()) return {};
  for (const nlohmann::json& node : *nodes) {
    if (!node.is_object()) continue;
    fmt::print("{:>5}  {:<20} {:<9} {:<7} {:<10} {:<22}\n", Cell(node, "id"), Cell(node, "label"),
               Cell(node, "state"), Cell(node, "replica"),
               "[" + Cell(node, "layer_begin") + "," + Cell(node, "layer_end") + ")",
               Cell(node, "address"));
  }
  return {};
}

Status Act(const NodesOptions& options, const std::string& verb, const std::string& body) {
  SHOAL_ASSIGN_OR_RETURN(
      const nlohmann::json answer,
      Call(options, fmt::format("/shoal/nodes/{}/{}", options.node, verb), body));
  fmt::print("node {}: {}\n", options.node, verb == "evict" ? "evicted" : verb);
  return {};
}

}  // namespace

void AddNodes(CLI::App& app) {
  auto options = std::make_shared<NodesOptions>();
  CLI::App* nodes = app.add_subcommand("nodes", "Who is in the cluster");
  nodes->require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = nodes->add_subcommand(name, help);
    AddDirOption(*command, options->dir);
    return command;
  };
  CLI::App* list = add("ls", "List them");
  list->add_flag("--json", options->json, "Print one JSON object");
  list->callback([options] { ExitOnError(List(*options)); });
  const auto with_node = [&](CLI::App* command) {
    command->add_option("node", options->node, "Its number")->required();
    return command;
  };
  with_node(add("drain", "Its layers move to others, then it may go"))->callback([options] {
    ExitOnError(Act(*options, "drain", "{}"));
  });
  with_node(add("evict", "It is out for ever: its certificate is void"))->callback([options] {
    ExitOnError(Act(*options, "evict", "{}"));
  });
  CLI::App* label = with_node(add("label", "What people call it"));
  label->add_option("label", options->label, "The new name")->required();
  label->callback([options] {
    ExitOnError(Act(*options, "label", nlohmann::json({{"label", options->label}}).dump()));
  });
}

}  // namespace shoal
