#include "shoal/plan_nodes.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "shoal/compute.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNodesMax = 100'000;

// One object of the file, with how to name it in an error.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  Status Fail(std::string_view field, std::string_view what) const {
    return {Code::kInvalidArgument, fmt::format("{}.{}: {}", where_, field, what)};
  }

  Status CheckNames(std::initializer_list<std::string_view> known) const {
    if (!json_.is_object()) {
      return {Code::kInvalidArgument, fmt::format("{}: is not an object", where_)};
    }
    for (const auto& [name, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return Fail(name, fmt::format("there is no such field; there are {}",
                                      fmt::join(known.begin(), known.end(), ", ")));
      }
    }
    return {};
  }

  enum class Need : std::uint8_t { kOptional, kAboveZero };
  Result<double> Number(const char* field, Need need) const {
    const auto found = json_.find(field);
    if (found == json_.end() && need == Need::kOptional) return 0.0;
    if (found == json_.end()) return Fail(field, "is missing");
    const double value = found->is_number() ? found->get<double>() : -1;
    const bool valid = need == Need::kOptional ? value >= 0 : value > 0;
    if (!valid || value > 1e9) {
      return Fail(field, need == Need::kOptional ? "must be a number, 0 or more"
                                                 : "must be a number above 0");
    }
    return value;
  }

  Result<std::string> Text(const char* field) const {
    const auto found = json_.find(field);
    if (found == json_.end()) return Fail(field, "is missing");
    if (!found->is_string() || found->get_ref<const std::string&>().empty()) {
      return Fail(field, "must be a text");
    }
    return found->get<std::string>();
  }

  Result<std::uint64_t> Memory(const char* field) const {
    SHOAL_ASSIGN_OR_RETURN(const std::string text, Text(field));
    Result<std::uint64_t> bytes = ParseBytes(text);
    if (!bytes.ok()) return Fail(field, bytes.status().message());
    return bytes;
  }

 private:
  const Json& json_;
  std::string where_;
};

Result<pipeline::PlanSpeeds> ParseSpeeds(const Fields& fields) {
  pipeline::PlanSpeeds speeds;
  SHOAL_ASSIGN_OR_RETURN(const double weights,
                         fields.Number("weights_gb_per_s", Fields::Need::kAboveZero));
  SHOAL_ASSIGN_OR_RETURN(const double gops, fields.Number("gops", Fields::Need::kAboveZero));
  speeds.weight_bytes_per_second = weights * 1e9;
  speeds.operations_per_second = gops * 1e9;
  return speeds;
}

Result<pipeline::PlanNode> ParseNode(const Fields& fields) {
  SHOAL_RETURN_IF_ERROR(fields.CheckNames(
      {"name", "memory", "weights_gb_per_s", "gops", "latency_ms", "mbit_per_s"}));
  pipeline::PlanNode node;
  SHOAL_ASSIGN_OR_RETURN(node.memory_bytes, fields.Memory("memory"));
  SHOAL_ASSIGN_OR_RETURN(node.speeds, ParseSpeeds(fields));
  SHOAL_ASSIGN_OR_RETURN(const double latency,
                         fields.Number("latency_ms", Fields::Need::kOptional));
  SHOAL_ASSIGN_OR_RETURN(const double megabits,
                         fields.Number("mbit_per_s", Fields::Need::kOptional));
  node.latency = latency / 1e3;
  node.link_bytes_per_second = megabits * 1e6 / 8;
  return node;
}

Status ParseLinks(const std::string& file, const Json& links,
                  const std::map<std::string, NodeId>& ids, pipeline::PlanCluster& cluster) {
  if (!links.is_array()) return {Code::kInvalidArgument, file + ": links: must be a list"};
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Fields fields(links[i], fmt::format("{}: links[{}]", file, i));
    SHOAL_RETURN_IF_ERROR(fields.CheckNames({"a", "b", "latency_ms"}));
    pipeline::PlanLink link;
    for (const auto& [field, end] : {std::pair{"a", &link.a}, std::pair{"b", &link.b}}) {
      SHOAL_ASSIGN_OR_RETURN(const std::string name, fields.Text(field));
      const auto id = ids.find(name);
      if (id == ids.end()) {
        return fields.Fail(field, fmt::format("no node is called '{}'", name));
      }
      *end = id->second;
    }
    SHOAL_ASSIGN_OR_RETURN(const double latency,
                           fields.Number("latency_ms", Fields::Need::kAboveZero));
    link.latency = latency / 1e3;
    cluster.links.push_back(link);
  }
  return {};
}

}  // namespace

Result<NamedCluster> ParsePlanNodes(const std::string& file, const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Status(Code::kInvalidArgument, file + ": is not JSON");
  SHOAL_RETURN_IF_ERROR(Fields(json, file).CheckNames({"nodes", "links", "head"}));
  const auto nodes = json.find("nodes");
  if (nodes == json.end() || !nodes->is_array() || nodes->empty() || nodes->size() > kNodesMax) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}: nodes: must be a list of 1 to {} nodes", file, kNodesMax));
  }
  NamedCluster named;
  std::map<std::string, NodeId> ids;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const Fields fields((*nodes)[i], fmt::format("{}: nodes[{}]", file, i));
    SHOAL_ASSIGN_OR_RETURN(pipeline::PlanNode node, ParseNode(fields));
    SHOAL_ASSIGN_OR_RETURN(std::string name, fields.Text("name"));
    node.id = NodeId{ToNumber(kHeadNode) + 1 + i};
    if (!ids.emplace(name, node.id).second) {
      return fields.Fail("name", fmt::format("another node is called '{}', too", name));
    }
    pipeline::PlanSpeeds& head = named.cluster.head;
    head.weight_bytes_per_second =
        std::max(head.weight_bytes_per_second, node.speeds.weight_bytes_per_second);
    head.operations_per_second =
        std::max(head.operations_per_second, node.speeds.operations_per_second);
    named.names.push_back(std::move(name));
    named.cluster.nodes.push_back(node);
  }
  if (const auto head = json.find("head"); head != json.end()) {
    const Fields fields(*head, file + ": head");
    SHOAL_RETURN_IF_ERROR(fields.CheckNames({"weights_gb_per_s", "gops"}));
    SHOAL_ASSIGN_OR_RETURN(named.cluster.head, ParseSpeeds(fields));
  }
  if (const auto links = json.find("links"); links != json.end()) {
    SHOAL_RETURN_IF_ERROR(ParseLinks(file, *links, ids, named.cluster));
  }
  return named;
}

}  // namespace shoal
