// `shoal join`: this device becomes a member of a cluster, and is one from then on.
#include <fmt/core.h>

#include <memory>
#include <string>

#include "os/cluster/file_lock.h"
#include "os/loop.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/membership.h"

namespace shoal {
namespace {

struct JoinOptions {
  std::string dir;
  Invitation invitation;
};

Status Join(const JoinOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  SHOAL_ASSIGN_OR_RETURN(const os::FileLock lock, os::LockNodeDirectory(home));
  os::Loop loop;
  SHOAL_ASSIGN_OR_RETURN(const Membership membership, BecomeMember(loop, home, options.invitation));
  fmt::print("{} as node {}\n", membership.is_new ? "joined" : "already joined",
             ToNumber(membership.files.node));
  // From here on this device is a member: with `membership.files`, under `lock`, on `loop`.
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
  command->callback([options] { ExitOnError(Join(*options)); });
}

}  // namespace shoal
