#include "api/admin.h"

#include <charconv>
#include <utility>

#include "api/error.h"
#include "api/json_internal.h"

namespace shoal::api {
namespace {

constexpr std::string_view kNodes = "/shoal/nodes";

// Takes as long for a key that is nearly right as for one that is not.
bool SameKey(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json ToJsonObject(const NodeSummary& node) {
  return {{"id", ToNumber(node.id)},
          {"label", node.label},
          {"address", node.address},
          {"state", node.state},
          {"replica", OrNull(node.replica)},
          {"answers", OrNull(node.answers)},
          {"layer_begin", node.layer_begin},
          {"layer_end", node.layer_end},
          {"memory_free_bytes", OrNull(node.memory_free_bytes)},
          {"battery_percent", OrNull(node.battery_percent)},
          {"temperature_c", OrNull(node.temperature_c)}};
}

std::optional<NodeId> ParseNodeId(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return NodeId{number};
}

Result<std::string> ReadLabel(const std::string& body) {
  SHOAL_ASSIGN_OR_RETURN(const Parsed json, ParseJson(body));
  const auto label = json.is_object() ? json.find("label") : json.end();
  if (label == json.end() || !label->is_string()) {
    return Status(Code::kInvalidArgument, R"(the body must be {"label": "TEXT"})");
  }
  auto text = label->get<std::string>();
  if (text.size() > kLabelBytesMax) {
    return Status(Code::kInvalidArgument, "label: has more than 64 bytes");
  }
  return text;
}

}  // namespace

bool AdminDoor::IsAdmin(const Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view shown = request.Header("Authorization");
  return !key_.empty() && shown.starts_with(kBearer) && SameKey(shown.substr(kBearer.size()), key_);
}

void AdminDoor::Handle(const Request& request, Responder& responder) {
  if (!IsAdmin(request)) {
    return ReplyError(responder,
                      {.status = 401, .message = "this needs the admin key as bearer token"},
                      {{"WWW-Authenticate", "Bearer"}});
  }
  std::string_view rest = request.path();
  if (rest.starts_with(kNodes)) {
    rest.remove_prefix(kNodes.size());
    if (rest.empty() && request.method == "GET") return ListNodes(responder);
    if (rest.empty()) {
      return ReplyError(responder, {.status = 405, .message = "only GET"}, {{"Allow", "GET"}});
    }
    if (rest.starts_with('/')) return Act(request, rest.substr(1), responder);
  }
  ReplyError(responder, {.status = 404, .message = "no such path; try GET /shoal/nodes"});
}

void AdminDoor::ListNodes(Responder& responder) const {
  Json nodes = Json::array();
  for (const NodeSummary& node : source_.Nodes()) nodes.push_back(ToJsonObject(node));
  ReplyJson(responder, Dump({{"nodes", std::move(nodes)}}));
}

void AdminDoor::Act(const Request& request, std::string_view rest, Responder& responder) {
  const std::size_t slash = rest.find('/');
  const std::optional<NodeId> node = ParseNodeId(rest.substr(0, slash));
  const std::string_view verb =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  if (!node || (verb != "drain" && verb != "evict" && verb != "label")) {
    return ReplyError(responder, {.status = 404,
                                  .message = "no such path; a node's number and drain, evict or "
                                             "label follow /shoal/nodes/"});
  }
  if (request.method != "POST") {
    return ReplyError(responder, {.status = 405, .message = "only POST"}, {{"Allow", "POST"}});
  }
  Status status;
  if (verb == "label") {
    const Result<std::string> label = ReadLabel(request.body);
    status = label.ok() ? source_.Label(*node, *label) : label.status();
  } else {
    status = verb == "drain" ? source_.Drain(*node) : source_.Evict(*node);
  }
  if (!status.ok()) return ReplyError(responder, ToApiError(status));
  ReplyJson(responder, Dump({{"ok", true}}));
}

}  // namespace shoal::api
