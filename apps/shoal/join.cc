// `shoal join`: this device becomes a member of a cluster, and is one from then on.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/work_rules.h"
#include "kernels/target.h"
#include "os/cluster/file_lock.h"
#include "os/loop.h"
#include "shoal/agent_node.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/compute.h"
#include "shoal/link_shape.h"
#include "shoal/membership.h"

namespace shoal {
namespace {

struct JoinOptions {
  std::string dir;
  Invitation invitation;
  AgentNodeOptions node;
  std::string memory;
  std::string hours;
  bool enrol_only = false;
  std::string target;
};

// The kernels of another instruction set than the best that this CPU has: all give the same bits.
Result<std::unique_ptr<kernels::ScopedBestTarget>> ChooseTarget(const std::string& name) {
  if (name.empty()) return std::unique_ptr<kernels::ScopedBestTarget>();
  for (const kernels::Target target : kernels::SupportedTargets()) {
    if (name == kernels::TargetName(target)) {
      return std::make_unique<kernels::ScopedBestTarget>(target);
    }
  }
  std::string known;
  for (const std::string& other : kernels::SupportedTargetNames()) {
    known += (known.empty() ? "" : ", ") + other;
  }
  return Status(Code::kInvalidArgument, "--target " + name + ": this CPU has " + known);
}

Status Join(const JoinOptions& options) {
  AgentNodeOptions node = options.node;
  if (!options.hours.empty()) {
    Result<DayHours> hours = ParseDayHours(options.hours);
    if (!hours.ok()) return std::move(hours).status().Annotate("--hours");
    node.hours = *hours;
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  SHOAL_ASSIGN_OR_RETURN(const os::FileLock lock, os::LockNodeDirectory(home));
  os::Loop loop;
  SHOAL_ASSIGN_OR_RETURN(const Membership membership, BecomeMember(loop, home, options.invitation));
  fmt::print("{} as node {}\n", membership.is_new ? "joined" : "already joined",
             ToNumber(membership.files.node));
  std::fflush(stdout);
  if (options.enrol_only) return {};
  SHOAL_ASSIGN_OR_RETURN(const auto target, ChooseTarget(options.target));
  node.home = home;
  node.files = membership.files;
  node.name =
      options.invitation.device_name.empty() ? DefaultDeviceName() : options.invitation.device_name;
  if (!options.memory.empty()) {
    SHOAL_ASSIGN_OR_RETURN(node.memory, ParseBytes(options.memory));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<AgentNode> running, AgentNode::Start(loop, node));
  loop.Run();
  return {};
}

}  // namespace

void AddJoin(CLI::App& app) {
  auto options = std::make_shared<JoinOptions>();
  CLI::App* command = app.add_subcommand("join", "Become a member of a cluster");
  command
      ->add_option("head", options->invitation.head,
                   "The head's enrolment port; not needed once this device has joined")
      ->type_name("HOST:PORT");
  command->add_option("token", options->invitation.token, "What `shoal token` printed on the head")
      ->type_name("TOKEN");
  AddDirOption(*command, options->dir);
  command->add_option("--name", options->invitation.device_name,
                      "What this device is called in the cluster");
  command->add_option("--threads", options->node.threads, "Compute with this many threads")
      ->check(CLI::Range(1, 256));
  command->add_option("--cpus", options->node.cpus, "Leave the other cores alone")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--duty", options->node.duty,
                   "Compute only this part of the time, such as 0.3: to stay cool, or for trials")
      ->check(CLI::Range(0.01, 1.0));
  command
      ->add_option("--watts", options->node.watts,
                   "What this device takes while it computes, if its battery does not tell: for "
                   "the energy per image")
      ->check(CLI::Range(0.01, 10000.0));
  command->add_option(
      "--memory", options->memory,
      "For layers, keys and values, such as 2.5G; most of what is free unless given");
  command
      ->add_option("--flip", options->node.flip,
                   "Compute wrongly: flip a bit in this share of the rows; for trials of --audit")
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--metered", options->node.metered, "The link to the head costs money");
  command->add_flag("--only-charging", options->node.only_charging,
                    "Work only while a charger delivers");
  command
      ->add_option("--hours", options->hours, "Work only then, such as 22-7, by the head's clock")
      ->type_name("FROM-UNTIL");
  command->add_option("--listen", options->node.listen, "Where neighbours reach this device")
      ->capture_default_str();
  AddLinkShapeOptions(*command, options->node.shape);
  command
      ->add_option("--sensors", options->node.sensors,
                   "Read the /sys and /proc of sensors below this directory; for trials")
      ->type_name("DIR");
  command->add_option("--target", options->target, "Compute with this instruction set; for trials");
  command->add_flag("--enrol-only", options->enrol_only, "Join, and do not start working");
  command->callback([options] { ExitOnError(Join(*options)); });
}

}  // namespace shoal
