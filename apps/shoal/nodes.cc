// `shoal nodes`: who is in the cluster, and telling nodes to leave. Speaks to the head that runs on
// this machine.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/head_call.h"

namespace shoal {
namespace {

struct NodesOptions {
  std::string dir;
  bool json = false;
  std::uint64_t node = 0;
  std::string label;
  // Of `set`.
  std::optional<double> duty;
  bool only_charging = false;
  bool no_only_charging = false;
  std::string hours;
  std::optional<double> floor_percent;
  bool trusted = false;
  bool not_trusted = false;
  bool clear = false;
};

std::string Cell(const nlohmann::json& node, const char* name) {
  const auto found = node.find(name);
  if (found == node.end() || found->is_null()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

Status List(const NodesOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const nlohmann::json answer, CallHead(options.dir, "/shoal/nodes"));
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
    return {};
  }
  fmt::print("{:>5}  {:<20} {:<9} {:<7} {:<10} {:<22} {}\n", "node", "label", "state", "replica",
             "layers", "address", "reason");
  const auto nodes = answer.find("nodes");
  if (nodes == answer.end() || !nodes->is_array()) return {};
  for (const nlohmann::json& node : *nodes) {
    if (!node.is_object()) continue;
    fmt::print("{:>5}  {:<20} {:<9} {:<7} {:<10} {:<22} {}\n", Cell(node, "id"),
               Cell(node, "label"), Cell(node, "state"), Cell(node, "replica"),
               "[" + Cell(node, "layer_begin") + "," + Cell(node, "layer_end") + ")",
               Cell(node, "address"), Cell(node, "reason"));
  }
  return {};
}

Status Act(const NodesOptions& options, const std::string& verb, const std::string& body) {
  SHOAL_ASSIGN_OR_RETURN(
      const nlohmann::json answer,
      CallHead(options.dir, fmt::format("/shoal/nodes/{}/{}", options.node, verb), body));
  fmt::print("node {}: {}\n", options.node, verb == "evict" ? "evicted" : verb);
  return {};
}

// What the head is to change; it says what is wrong with it.
Status Set(const NodesOptions& options) {
  nlohmann::json body = nlohmann::json::object();
  if (options.clear) {
    for (const char* name : {"duty", "only_charging", "hours", "floor_percent", "trusted"}) {
      body[name] = nullptr;
    }
  }
  if (options.duty) body["duty"] = *options.duty;
  if (options.only_charging) body["only_charging"] = true;
  if (options.no_only_charging) body["only_charging"] = false;
  if (!options.hours.empty()) body["hours"] = options.hours;
  if (options.floor_percent) body["floor_percent"] = *options.floor_percent;
  if (options.trusted) body["trusted"] = true;
  if (options.not_trusted) body["trusted"] = false;
  if (body.empty()) {
    return {Code::kInvalidArgument,
            "say what is to hold: --duty, --only-charging, --hours, --floor, --trusted or --clear"};
  }
  return Act(options, "set", body.dump());
}

void AddSet(CLI::App& command, const std::shared_ptr<NodesOptions>& options) {
  command.add_option("--duty", options->duty, "It computes at most this part of the time: 0.5");
  CLI::Option* only = command.add_flag("--only-charging", options->only_charging,
                                       "It works only while a charger delivers");
  command.add_flag("--no-only-charging", options->no_only_charging, "It works also without one")
      ->excludes(only);
  CLI::Option* trusted = command.add_flag("--trusted", options->trusted,
                                          "It may hold the ends of the model: serve --trust ends");
  command.add_flag("--not-trusted", options->not_trusted, "It may not")->excludes(trusted);
  command.add_option("--hours", options->hours, "It works only then: 22-7, or always")
      ->type_name("FROM-UNTIL");
  command
      .add_option("--floor", options->floor_percent,
                  "It rests when its battery is at that, and is spared 10 % earlier")
      ->type_name("PERCENT");
  command.add_flag("--clear", options->clear, "The rest is as for all nodes again");
  command.callback([options] { ExitOnError(Set(*options)); });
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
  with_node(add("undrain", "It may work again"))->callback([options] {
    ExitOnError(Act(*options, "undrain", "{}"));
  });
  AddSet(*with_node(add("set", "When and how hard it may work, whatever its owner wishes")),
         options);
  with_node(add("evict", "It is out for ever: its certificate is void"))->callback([options] {
    ExitOnError(Act(*options, "evict", "{}"));
  });
  with_node(add("pardon", "It computed wrongly, and gets work again all the same"))
      ->callback([options] { ExitOnError(Act(*options, "pardon", "{}")); });
  CLI::App* label = with_node(add("label", "What people call it"));
  label->add_option("label", options->label, "The new name")->required();
  label->callback([options] {
    ExitOnError(Act(*options, "label", nlohmann::json({{"label", options->label}}).dump()));
  });
}

}  // namespace shoal
