// `shoal init`: makes a cluster whose head is this device.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

#include "os/cluster/head_directory.h"
#include "os/wall_clock.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"

namespace shoal {
namespace {

struct InitOptions {
  std::string dir;
  std::string name;
  bool json = false;
};

Status Init(const InitOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  const std::string name = options.name.empty() ? DefaultDeviceName() : options.name;
  SHOAL_RETURN_IF_ERROR(os::HeadDirectory::Create(home, name, os::UnixNow()));
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"name", name}, {"directory", home}}.dump());
    return {};
  }
  fmt::print(
      "Made the cluster \"{}\" in {}. This device is its head, node 1.\n"
      "Keep that directory to yourself: whoever has its ca.key can make members.\n"
      "Next: `shoal serve` here, and `shoal token` for a line to type on a phone.\n",
      name, home);
  return {};
}

}  // namespace

void AddInit(CLI::App& app) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* command = app.add_subcommand("init", "Make a cluster whose head is this device");
  AddDirOption(*command, options->dir);
  command->add_option("--name", options->name, "What the cluster is called (this device's name)");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { ExitOnError(Init(*options)); });
}

}  // namespace shoal
