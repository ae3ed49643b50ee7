#include "shoal/serve_file.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

#include "os/file.h"

namespace shoal {
namespace {

std::string PathOf(const std::string& home) { return home + "/serve.json"; }
constexpr std::size_t kBytesMax = 4096;

}  // namespace

Status WriteServeFile(const std::string& home, const ServeAddresses& addresses) {
  const nlohmann::ordered_json object = {
      {"cluster", addresses.cluster}, {"enrol", addresses.enrol}, {"http", addresses.http}};
  return os::WriteFileAtomically(PathOf(home), object.dump(2) + "\n", os::FileAccess::kOwner);
}

Result<ServeAddresses> ReadServeFile(const std::string& home) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(PathOf(home), kBytesMax));
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  const auto field = [&](const char* name) -> std::string {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  ServeAddresses addresses = {field("cluster"), field("enrol"), field("http")};
  if (addresses.cluster.empty() || addresses.enrol.empty()) {
    return Status(Code::kCorruption, PathOf(home) + " is damaged; start `shoal serve` again");
  }
  return addresses;
}

void RemoveServeFile(const std::string& home) {
  std::error_code ignored;  // What is not there need not go.
  std::filesystem::remove(PathOf(home), ignored);
}

}  // namespace shoal
