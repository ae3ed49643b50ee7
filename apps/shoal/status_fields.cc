#include "shoal/status_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace shoal {
namespace {

const nlohmann::json* Find(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

}  // namespace

std::optional<double> NumberAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<bool> FlagAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  if (found == nullptr || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

std::string TextAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  if (found == nullptr || !found->is_string()) return {};
  return Printable(found->get<std::string>());
}

nlohmann::json ObjectAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  return found != nullptr && found->is_object() ? *found : nlohmann::json::object();
}

std::vector<nlohmann::json> ListAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  std::vector<nlohmann::json> list;
  if (found == nullptr || !found->is_array()) return list;
  std::copy_if(found->begin(), found->end(), std::back_inserter(list),
               [](const nlohmann::json& entry) { return entry.is_object(); });
  return list;
}

std::vector<std::string> TextsAt(const nlohmann::json& object, const char* name) {
  const nlohmann::json* const found = Find(object, name);
  std::vector<std::string> texts;
  if (found == nullptr || !found->is_array()) return texts;
  for (const nlohmann::json& entry : *found) {
    if (entry.is_string()) texts.push_back(Printable(entry.get<std::string>()));
  }
  return texts;
}

std::string NodeName(const nlohmann::json& node) {
  const std::string label = TextAt(node, "label");
  const std::string number = fmt::format("node {:.0f}", NumberAt(node, "id").value_or(0));
  return label.empty() ? number : fmt::format("{} ({})", number, label);
}

}  // namespace shoal
