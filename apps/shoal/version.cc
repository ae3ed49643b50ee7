#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "kernels/revision.h"
#include "kernels/target.h"
#include "shoal/commands.h"

namespace shoal {
namespace {

void PrintVersion(bool json) {
  const std::vector<std::string> kernel_names = kernels::SupportedTargetNames();
  if (json) {
    const nlohmann::ordered_json object = {{"version", SHOAL_VERSION},
                                           {"compiler", SHOAL_COMPILER},
                                           {"arithmetic", kernels::kKernelRevision},
                                           {"kernels", kernel_names}};
    fmt::print("{}\n", object.dump());
    return;
  }
  fmt::print("shoal {} ({}; arithmetic {}; kernels: {})\n", SHOAL_VERSION, SHOAL_COMPILER,
             kernels::kKernelRevision, fmt::join(kernel_names, ", "));
}

}  // namespace

void AddVersion(CLI::App& app) {
  CLI::App* command = app.add_subcommand("version", "Print what this binary is");
  CLI::Option* json = command->add_flag("--json")->description("Print one JSON object");
  command->callback([json] { PrintVersion(json->count() > 0); });
}

}  // namespace shoal
