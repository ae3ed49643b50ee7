// `shoal cache`: the layers that this device keeps on flash.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/flash/layer_directory.h"
#include "os/flash/layer_name.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/pull_choice.h"

namespace shoal {
namespace {

struct CacheOptions {
  std::string dir;
  bool json = false;
  bool all = false;
  std::vector<std::string> layers;
  std::optional<std::uint64_t> quota;
  bool no_quota = false;
};

Result<std::string> DirectoryOf(const CacheOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  return CacheDirectory(home);
}

void PrintJson(const std::string& directory, const os::LayerUsage& usage) {
  auto layers = nlohmann::ordered_json::array();
  for (const os::StoredLayer& layer : usage.layers) {
    layers.push_back(
        {{"sha256", os::ToHex(layer.name)}, {"bytes", layer.bytes}, {"whole", layer.whole}});
  }
  nlohmann::ordered_json object = {
      {"directory", directory}, {"layers", layers}, {"bytes", usage.bytes}, {"quota", nullptr}};
  if (usage.quota) object["quota"] = *usage.quota;
  fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status List(const CacheOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string directory, DirectoryOf(options));
  SHOAL_ASSIGN_OR_RETURN(const os::LayerUsage usage, os::ReadLayerUsage(directory));
  if (options.json) {
    PrintJson(directory, usage);
    return {};
  }
  for (const os::StoredLayer& layer : usage.layers) {
    fmt::print("{} {:>9}{}\n", os::ToHex(layer.name), BytesText(layer.bytes),
               layer.whole ? "" : "  not whole yet");
  }
  fmt::print("{} layers, {}; quota: {}\n", usage.layers.size(), BytesText(usage.bytes),
             usage.quota ? BytesText(*usage.quota) : "none");
  return {};
}

// The layers of which each text is the name, or a beginning that no other has.
Result<std::vector<os::StoredLayer>> Choose(const os::LayerUsage& usage,
                                            const CacheOptions& options,
                                            const std::string& directory) {
  if (options.all) return usage.layers;
  std::vector<os::StoredLayer> chosen;
  for (const std::string& text : options.layers) {
    std::vector<os::StoredLayer> found;
    std::copy_if(
        usage.layers.begin(), usage.layers.end(), std::back_inserter(found),
        [&](const os::StoredLayer& layer) { return os::ToHex(layer.name).starts_with(text); });
    if (found.empty() || text.empty()) {
      return Status(
          Code::kNotFound,
          fmt::format("no layer in {} is called '{}'; see `shoal cache ls`", directory, text));
    }
    if (found.size() > 1) {
      return Status(Code::kInvalidArgument,
                    fmt::format("the names of {} layers begin with '{}'", found.size(), text));
    }
    chosen.push_back(std::move(found[0]));
  }
  return chosen;
}

Status Remove(const CacheOptions& options) {
  if (options.all == !options.layers.empty()) {
    return Status(Code::kInvalidArgument, "say which layers, or --all");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string path, DirectoryOf(options));
  SHOAL_ASSIGN_OR_RETURN(const os::LayerUsage usage, os::ReadLayerUsage(path));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<os::StoredLayer> chosen, Choose(usage, options, path));
  std::uint64_t bytes = 0;
  if (!chosen.empty()) {
    SHOAL_ASSIGN_OR_RETURN(os::LayerDirectory directory, os::LayerDirectory::Open(path));
    for (const os::StoredLayer& layer : chosen) {
      SHOAL_RETURN_IF_ERROR(directory.Remove(layer.name));
      bytes += layer.bytes;
    }
  }
  fmt::print("removed {} layers, {}\n", chosen.size(), BytesText(bytes));
  return {};
}

Status SetQuota(const CacheOptions& options) {
  if (options.no_quota == options.quota.has_value()) {
    return Status(Code::kInvalidArgument, "say a size, such as 8GB, or --none");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string path, DirectoryOf(options));
  SHOAL_ASSIGN_OR_RETURN(os::LayerDirectory directory, os::LayerDirectory::Open(path));
  return directory.SetQuota(options.quota);
}

CLI::App* AddSubcommand(CLI::App& parent, const std::shared_ptr<CacheOptions>& options,
                        const char* name, const char* about, Status (*run)(const CacheOptions&)) {
  CLI::App* command = parent.add_subcommand(name, about);
  AddDirOption(*command, options->dir);
  command->callback([options, run] { ExitOnError(run(*options)); });
  return command;
}

}  // namespace

void AddCache(CLI::App& app) {
  const auto options = std::make_shared<CacheOptions>();
  CLI::App* cache = app.add_subcommand("cache", "The layers of models that this device keeps");
  cache->require_subcommand(1);
  AddSubcommand(*cache, options, "ls", "List them, those used longest ago first", List)
      ->add_flag("--json", options->json, "Print one JSON object");
  CLI::App* remove = AddSubcommand(*cache, options, "rm", "Remove some", Remove);
  remove->add_flag("--all", options->all, "Remove all");
  remove->add_option("layers", options->layers, "Their names, or what these begin with")
      ->type_name("HEX");
  CLI::App* quota = AddSubcommand(*cache, options, "quota", "Set how much they may take", SetQuota);
  quota->add_option("size", options->quota, "8GB, 500MB")->transform(CLI::AsSizeValue(true));
  quota->add_flag("--none", options->no_quota, "As much as fits");
}

}  // namespace shoal
