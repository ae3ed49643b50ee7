// HeadDirectory: the files of a cluster on its head, made by `shoal init`.
//
//   ca.crt ca.key       the authority; whoever has ca.key can make members
//   node.crt node.key   the head's own certificate: the head is node 1
//   admin.key           64 hexadecimal digits; opens the HTTP door for administration
//   nodes.json          who is a member, who was, and the next id
//   tokens.json         join tokens by the hash of their secret
//   serve.lock          held by the one `shoal serve` of this directory
//   update.lock         held for the moment in which a list changes
//
// All are for the owner only (0600) and replaced atomically. The lists are read anew by
// every call, and changed under update.lock: `shoal token` and `shoal nodes` work while
// `shoal serve` runs. Every failure names the file and says what to do.
//
// Calls block for as long as the disk does. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "base/work_rules.h"
#include "os/cluster/file_lock.h"
#include "os/net/certificates.h"
#include "os/net/tls.h"
#include "os/wall_clock.h"
#include "wire/enrol.h"
#include "wire/join_token.h"

namespace shoal::os {

struct MemberRecord {
  NodeId id{};
  std::string name;
  std::vector<std::string> labels;
  std::uint64_t serial = 0;  // Of its certificate.
  UnixTime issued_at = 0;
  bool revoked = false;
  std::string quarantine = {};  // Why it gets no work: what it computed wrongly. Empty: it does.
  WorkRules rules = {};
};

// What became of a request to join.
struct Admission {
  wire::EnrolVerdict verdict = wire::EnrolVerdict::kUnknownToken;
  NodeId node{};                // With kWelcome,
  std::string certificate_pem;  // and so is this.
};

struct NodeList;

class HeadDirectory {
 public:
  // Makes a cluster in `path`. kInvalidArgument: there is one already, or this device is a
  // member of another, which are not touched; or `name` is not 1 to 64 bytes of plain text.
  static Status Create(const std::string& path, const std::string& name, UnixTime now);

  // kNotFound: there is no cluster in `path`. kCorruption: a file is not what it should be.
  static Result<HeadDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const Authority& authority() const { return authority_; }
  const std::shared_ptr<const TlsIdentity>& identity() const { return identity_; }
  const std::string& admin_key() const { return admin_key_; }

  // For `shoal serve`, as long as it runs. kUnavailable: another one does.
  Result<FileLock> LockForServing() const;

  // A new token for `uses` devices, valid for `seconds` from `now`.
  // kResourceExhausted: kTokensMax of them are waiting to be used.
  Result<wire::JoinToken> MakeToken(std::uint64_t uses, UnixTime seconds, UnixTime now);

  // Judges the token and, if it is good, makes the sender a member: after OK with kWelcome
  // the id, the certificate's serial and the use of the token are on disk. Ids are never
  // given twice. A failure is the disk's, or somebody else's who holds the lock.
  Result<Admission> Admit(const wire::EnrolRequest& request, UnixTime now);

  Result<std::vector<MemberRecord>> Members() const;
  // Of the members that were evicted.
  Result<std::set<std::uint64_t>> RevokedSerials() const;
  // kNotFound: no such member. kInvalidArgument: the head cannot be revoked.
  Status Revoke(NodeId node);
  Status SetLabels(NodeId node, const std::vector<std::string>& labels);
  // kInvalidArgument: see CheckWorkRules.
  // Empty evidence: it is pardoned.
  Status SetQuarantine(NodeId node, const std::string& evidence);
  Status SetRules(NodeId node, const WorkRules& rules);

 private:
  HeadDirectory(std::string path, Authority authority, std::shared_ptr<const TlsIdentity> identity,
                wire::AuthorityHash hash, std::string admin_key);

  Result<FileLock> LockForUpdate() const;
  Status ChangeMember(NodeId node, const std::function<void(MemberRecord&)>& change);

  std::string path_;
  Authority authority_;
  std::shared_ptr<const TlsIdentity> identity_;
  wire::AuthorityHash authority_hash_{};
  std::string admin_key_;
};

// Used up and expired ones count for a week, so that whoever tries one is told what it is.
inline constexpr std::size_t kTokensMax = 1000;
inline constexpr std::uint64_t kTokenUsesMax = 10'000;

}  // namespace shoal::os
