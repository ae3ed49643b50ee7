#include "shoal/membership.h"

#include <utility>

#include "os/net/certificates.h"
#include "os/net/enrol_client.h"
#include "shoal/cluster_home.h"
#include "wire/join_token.h"

namespace shoal {
namespace {

// Only a device of the same cluster may go on with an invitation that it does not need.
Status CheckSameCluster(const os::NodeFiles& files, const std::string& home,
                        const Invitation& invitation) {
  if (invitation.token.empty()) return {};
  SHOAL_ASSIGN_OR_RETURN(const wire::JoinToken token, wire::DecodeJoinToken(invitation.token));
  SHOAL_ASSIGN_OR_RETURN(const wire::AuthorityHash hash, os::HashOfAuthority(files.authority_pem));
  if (hash == token.authority) return {};
  return {Code::kInvalidArgument, home + " makes this device node " +
                                      std::to_string(ToNumber(files.node)) +
                                      " of another cluster; name another directory with --dir"};
}

}  // namespace

Result<Membership> BecomeMember(os::Loop& loop, const std::string& home,
                                const Invitation& invitation) {
  Result<os::NodeFiles> kept = os::LoadNodeFiles(home);
  if (kept.ok()) {
    SHOAL_RETURN_IF_ERROR(CheckSameCluster(*kept, home, invitation));
    return Membership{.files = *std::move(kept), .is_new = false};
  }
  const bool never_joined = kept.status().code() == Code::kNotFound;
  if (!never_joined || invitation.head.empty()) return kept.status();
  if (invitation.token.empty()) {
    return Status(
        Code::kInvalidArgument,
        "the join token is missing; copy the line that `shoal token` printed on the head");
  }
  SHOAL_ASSIGN_OR_RETURN(const wire::JoinToken token, wire::DecodeJoinToken(invitation.token));
  const std::string name =
      invitation.device_name.empty() ? DefaultDeviceName() : invitation.device_name;
  SHOAL_ASSIGN_OR_RETURN(os::NodeFiles files, os::Enrol(loop, {.head = invitation.head,
                                                               .token = token,
                                                               .device_name = name,
                                                               .program_version = SHOAL_VERSION}));
  SHOAL_RETURN_IF_ERROR(os::SaveNodeFiles(home, files));
  return Membership{.files = std::move(files), .is_new = true};
}

}  // namespace shoal
