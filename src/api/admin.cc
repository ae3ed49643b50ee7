#include "api/admin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "api/cluster_json_internal.h"
#include "api/error.h"

namespace shoal::api {
namespace {

constexpr std::string_view kNodes = "/shoal/nodes";
constexpr std::array<std::string_view, 6> kVerbs = {"drain", "undrain", "evict",
                                                    "label", "set",     "pardon"};
constexpr std::string_view kStatus = "/shoal/status";

// Takes as long for a key that is nearly right as for one that is not.
bool SameKey(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
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

// One field of the body of "set" into the rules.
Status ApplyRule(const std::string& name, const Parsed& value, WorkRules& rules) {
  const auto wrong = [&](const char* what) {
    return Status(Code::kInvalidArgument, name + ": must be " + what + " or null");
  };
  if (name == "duty") {
    if (!value.is_null() && !value.is_number()) return wrong("a number from 0.01 to 1");
    rules.duty = value.is_null() ? std::nullopt : std::optional(value.get<double>());
  } else if (name == "only_charging") {
    if (!value.is_null() && !value.is_boolean()) return wrong("true, false");
    rules.only_charging = value.is_null() ? std::nullopt : std::optional(value.get<bool>());
  } else if (name == "trusted") {
    if (!value.is_null() && !value.is_boolean()) return wrong("true, false");
    rules.trusted = value.is_null() ? std::nullopt : std::optional(value.get<bool>());
  } else if (name == "floor_percent") {
    if (!value.is_null() && !value.is_number()) return wrong("a number from 0 to 90");
    rules.floor = value.is_null() ? std::nullopt : std::optional(value.get<double>() / 100);
  } else if (name == "hours") {
    if (!value.is_null() && !value.is_string()) return wrong("a text such as \"22-7\"");
    rules.hours.reset();
    if (value.is_null()) return {};
    SHOAL_ASSIGN_OR_RETURN(rules.hours, ParseDayHours(value.get<std::string>()));
  } else {
    return {Code::kInvalidArgument,
            "no such rule; there are duty, only_charging, hours, floor_percent and trusted"};
  }
  return CheckWorkRules(rules);
}

// `rules` as the body of "set" changes them.
Result<WorkRules> ReadRules(const std::string& body, WorkRules rules) {
  SHOAL_ASSIGN_OR_RETURN(const Parsed json, ParseJson(body));
  if (!json.is_object() || json.empty()) {
    return Status(Code::kInvalidArgument,
                  R"(the body must be such as {"duty": 0.5, "only_charging": true, )"
                  R"("hours": "22-7", "floor_percent": 15}, or some of it)");
  }
  for (const auto& [name, value] : json.items()) {
    SHOAL_RETURN_IF_ERROR(ApplyRule(name, value, rules));
  }
  return rules;
}

void OnlyGet(Responder& responder) {
  ReplyError(responder, {.status = 405, .message = "only GET"}, {{"Allow", "GET"}});
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
  if (rest == kStatus) {
    return request.method == "GET" ? GiveReport(responder) : OnlyGet(responder);
  }
  if (rest.starts_with(kNodes)) {
    rest.remove_prefix(kNodes.size());
    if (rest.empty() && request.method == "GET") return ListNodes(responder);
    if (rest.empty()) return OnlyGet(responder);
    if (rest.starts_with('/')) return Act(request, rest.substr(1), responder);
  }
  ReplyError(responder, {.status = 404, .message = "no such path; try GET /shoal/status"});
}

void AdminDoor::ListNodes(Responder& responder) const {
  Json nodes = Json::array();
  for (const NodeSummary& node : source_.Nodes()) nodes.push_back(ToJsonObject(node));
  ReplyJson(responder, Dump({{"nodes", std::move(nodes)}}));
}

void AdminDoor::GiveReport(Responder& responder) const {
  ReplyJson(responder, Dump(ToJsonObject(source_.Report())));
}

void AdminDoor::Act(const Request& request, std::string_view rest, Responder& responder) {
  const std::size_t slash = rest.find('/');
  const std::optional<NodeId> node = ParseNodeId(rest.substr(0, slash));
  const std::string_view verb =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  if (!node || std::find(kVerbs.begin(), kVerbs.end(), verb) == kVerbs.end()) {
    return ReplyError(responder, {.status = 404,
                                  .message = "no such path; a node's number and drain, undrain, "
                                             "evict, label or set follow /shoal/nodes/"});
  }
  if (request.method != "POST") {
    return ReplyError(responder, {.status = 405, .message = "only POST"}, {{"Allow", "POST"}});
  }
  const Status status = Do(*node, verb, request.body);
  if (!status.ok()) return ReplyError(responder, ToApiError(status));
  ReplyJson(responder, Dump({{"ok", true}}));
}

Status AdminDoor::Do(NodeId node, std::string_view verb, const std::string& body) {
  if (verb == "drain") return source_.Drain(node, true);
  if (verb == "undrain") return source_.Drain(node, false);
  if (verb == "evict") return source_.Evict(node);
  if (verb == "pardon") return source_.Pardon(node);
  if (verb == "label") {
    SHOAL_ASSIGN_OR_RETURN(const std::string label, ReadLabel(body));
    return source_.Label(node, label);
  }
  SHOAL_ASSIGN_OR_RETURN(const WorkRules now, source_.Rules(node));
  SHOAL_ASSIGN_OR_RETURN(const WorkRules rules, ReadRules(body, now));
  return source_.SetRules(node, rules);
}

}  // namespace shoal::api
