#include <nlohmann/json.hpp>

#include <charconv>
#include <limits>
#include <utility>

#include "os/cluster/member_lists_internal.h"
#include "os/sha256.h"

namespace shoal::os {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr int kIndent = 1;

Status Wrong(const std::string& what) { return {Code::kCorruption, what}; }

// The array `name` of a file of ours.
Result<Json> ParseList(const std::string& text, const char* name) {
  Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded() || !file.is_object()) return Wrong("not a JSON object");
  if (file.value("version", Json()) != kVersion) {
    return Wrong("\"version\" is not " + std::to_string(kVersion) +
                 ": written by another version of shoal?");
  }
  const auto list = file.find(name);
  if (list == file.end() || !list->is_array()) return Wrong(std::string("no list \"") + name + '"');
  return file;
}

// Takes fields out of one entry; remembers the first that is not what it should be.
class Fields {
 public:
  Fields(const Json& entry, std::string where) : entry_(entry), where_(std::move(where)) {}

  std::uint64_t Number(const char* name) {
    const Json* field = Find(name, &Json::is_number_unsigned);
    return field != nullptr ? field->get<std::uint64_t>() : 0;
  }
  double Real(const char* name) {
    const Json* field = Find(name, &Json::is_number);
    return field != nullptr ? field->get<double>() : 0;
  }
  std::string Text(const char* name) {
    const Json* field = Find(name, &Json::is_string);
    return field != nullptr ? field->get<std::string>() : std::string();
  }
  bool Flag(const char* name) {
    const Json* field = Find(name, &Json::is_boolean);
    return field != nullptr && field->get<bool>();
  }
  UnixTime Time(const char* name) {
    const std::uint64_t time = Number(name);
    if (time > static_cast<std::uint64_t>(std::numeric_limits<UnixTime>::max())) Fail(name);
    return static_cast<UnixTime>(time);
  }
  // Numbers that a JSON reader with doubles would round are written as text.
  std::uint64_t LongNumber(const char* name) {
    const std::string text = Text(name);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) Fail(name);
    return value;
  }
  std::vector<std::string> Texts(const char* name) {
    std::vector<std::string> texts;
    const Json* field = Find(name, &Json::is_array);
    if (field == nullptr) return texts;
    for (const Json& text : *field) {
      if (!text.is_string()) Fail(name);
      if (text.is_string()) texts.push_back(text.get<std::string>());
    }
    return texts;
  }
  void Fail(const char* name) {
    if (wrong_.ok()) wrong_ = Wrong(where_ + ": \"" + name + "\" is missing or wrong");
  }
  const Status& wrong() const { return wrong_; }

 private:
  const Json* Find(const char* name, bool (Json::*is_right)() const noexcept) {
    const auto found = entry_.is_object() ? entry_.find(name) : entry_.end();
    if (found != entry_.end() && ((*found).*is_right)()) return &*found;
    Fail(name);
    return nullptr;
  }

  const Json& entry_;
  std::string where_;
  Status wrong_;
};

// Only what an operator has said: most lists have none.
void AddRules(const WorkRules& rules, Json& entry) {
  if (rules.duty) entry["duty"] = *rules.duty;
  if (rules.only_charging) entry["only_charging"] = *rules.only_charging;
  if (rules.hours) entry["hours"] = rules.hours->ToString();
  if (rules.floor) entry["floor"] = *rules.floor;
  if (rules.trusted) entry["trusted"] = *rules.trusted;
}

WorkRules TakeRules(const Json& entry, Fields& fields) {
  WorkRules rules;
  const auto has = [&](const char* name) { return entry.is_object() && entry.contains(name); };
  if (has("duty")) rules.duty = fields.Real("duty");
  if (has("only_charging")) rules.only_charging = fields.Flag("only_charging");
  if (has("floor")) rules.floor = fields.Real("floor");
  if (has("trusted")) rules.trusted = fields.Flag("trusted");
  if (has("hours")) {
    const Result<DayHours> hours = ParseDayHours(fields.Text("hours"));
    if (hours.ok()) rules.hours = *hours;
    if (!hours.ok()) fields.Fail("hours");
  }
  if (!CheckWorkRules(rules).ok()) fields.Fail("duty or floor");
  return rules;
}

}  // namespace

std::string FormatNodeList(const NodeList& list) {
  Json nodes = Json::array();
  for (const MemberRecord& node : list.nodes) {
    nodes.push_back({{"id", ToNumber(node.id)},
                     {"name", node.name},
                     {"labels", node.labels},
                     {"serial", std::to_string(node.serial)},
                     {"issued_at", node.issued_at},
                     {"revoked", node.revoked}});
    AddRules(node.rules, nodes.back());
    if (!node.quarantine.empty()) nodes.back()["quarantine"] = node.quarantine;
  }
  const Json file = {{"version", kVersion}, {"next_id", list.next_id}, {"nodes", std::move(nodes)}};
  // Names are checked where they come in; should one slip through, it must not end us.
  return file.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatTokenList(const std::vector<TokenRecord>& tokens) {
  Json list = Json::array();
  for (const TokenRecord& token : tokens) {
    list.push_back({{"sha256", token.secret_sha256},
                    {"expires_at", token.expires_at},
                    {"uses_left", token.uses_left}});
  }
  return Json({{"version", kVersion}, {"tokens", std::move(list)}}).dump(kIndent) + "\n";
}

Result<NodeList> ParseNodeList(const std::string& text) {
  SHOAL_ASSIGN_OR_RETURN(const Json file, ParseList(text, "nodes"));
  NodeList list;
  Fields top(file, "the list");
  list.next_id = top.Number("next_id");
  SHOAL_RETURN_IF_ERROR(top.wrong());
  for (const Json& entry : file["nodes"]) {
    Fields fields(entry, "node " + std::to_string(list.nodes.size() + 1) + " of the list");
    MemberRecord node;
    node.id = NodeId{fields.Number("id")};
    node.name = fields.Text("name");
    node.labels = fields.Texts("labels");
    node.serial = fields.LongNumber("serial");
    node.issued_at = fields.Time("issued_at");
    node.revoked = fields.Flag("revoked");
    node.rules = TakeRules(entry, fields);
    if (entry.is_object() && entry.contains("quarantine")) {
      node.quarantine = fields.Text("quarantine");
    }
    if (ToNumber(node.id) >= list.next_id) fields.Fail("id");
    SHOAL_RETURN_IF_ERROR(fields.wrong());
    list.nodes.push_back(std::move(node));
  }
  return list;
}

Result<std::vector<TokenRecord>> ParseTokenList(const std::string& text) {
  SHOAL_ASSIGN_OR_RETURN(const Json file, ParseList(text, "tokens"));
  std::vector<TokenRecord> tokens;
  for (const Json& entry : file["tokens"]) {
    Fields fields(entry, "token " + std::to_string(tokens.size() + 1) + " of the list");
    TokenRecord token;
    token.secret_sha256 = fields.Text("sha256");
    token.expires_at = fields.Time("expires_at");
    token.uses_left = fields.Number("uses_left");
    if (!IsSha256(token.secret_sha256)) fields.Fail("sha256");
    SHOAL_RETURN_IF_ERROR(fields.wrong());
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace shoal::os
