#include "os/cluster/head_directory.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "os/cluster/member_lists_internal.h"
#include "os/cluster/private_files_internal.h"
#include "os/net/openssl_internal.h"
#include "os/sha256.h"

namespace shoal::os {
namespace {

constexpr const char* kAuthorityCertificate = "/ca.crt";
constexpr const char* kAuthorityKey = "/ca.key";
constexpr const char* kCertificate = "/node.crt";
constexpr const char* kKey = "/node.key";
constexpr const char* kAdminKey = "/admin.key";
constexpr const char* kNodes = "/nodes.json";
constexpr const char* kTokens = "/tokens.json";

constexpr const char* kRestore =
    "restore it from a backup, or make a new cluster with `shoal init` in an empty directory";
constexpr const char* kRestoreTokens = "delete it: join tokens that were not used are then void";

constexpr std::size_t kAdminKeyBytes = 32;
// Longer than any write that somebody else is in the middle of.
constexpr Duration kUpdatePatience = std::chrono::seconds(2);
constexpr UnixTime kKeepSpentTokensFor = UnixTime{7} * 24 * 60 * 60;

Status DrawRandom(std::span<std::byte> out) {
  InitOpenSsl();
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size())) != 1) {
    return OpenSslError(Code::kUnavailable, "random bytes");
  }
  return {};
}

std::string Hex(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::string HashOf(const wire::JoinSecret& secret) {
  Sha256 hash;
  hash.Update(secret);
  return hash.Finish();
}

Result<NodeList> ReadNodes(const std::string& directory) {
  const std::string path = directory + kNodes;
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadClusterFile(path, kRestore));
  Result<NodeList> list = ParseNodeList(text);
  if (!list.ok()) return Damaged(path, list.status(), kRestore);
  return list;
}

Result<std::vector<TokenRecord>> ReadTokens(const std::string& directory) {
  const std::string path = directory + kTokens;
  if (!FileExists(path)) return std::vector<TokenRecord>();
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadClusterFile(path, kRestoreTokens));
  Result<std::vector<TokenRecord>> tokens = ParseTokenList(text);
  if (!tokens.ok()) return Damaged(path, tokens.status(), kRestoreTokens);
  return tokens;
}

Status WriteTokens(const std::string& directory, const std::vector<TokenRecord>& tokens) {
  return WriteClusterFile(directory + kTokens, FormatTokenList(tokens));
}

Status WriteNodes(const std::string& directory, const NodeList& list) {
  return WriteClusterFile(directory + kNodes, FormatNodeList(list));
}

// The record with this hash, or null. Takes as long for every token, known or not.
TokenRecord* FindToken(std::vector<TokenRecord>& tokens, const std::string& hash) {
  TokenRecord* found = nullptr;
  for (TokenRecord& token : tokens) {
    if (CRYPTO_memcmp(token.secret_sha256.data(), hash.data(), hash.size()) == 0) found = &token;
  }
  return found;
}

wire::EnrolVerdict Judge(const TokenRecord* token, UnixTime now) {
  if (token == nullptr) return wire::EnrolVerdict::kUnknownToken;
  if (token->uses_left == 0) return wire::EnrolVerdict::kUsedToken;
  if (now >= token->expires_at) return wire::EnrolVerdict::kExpiredToken;
  return wire::EnrolVerdict::kWelcome;
}

}  // namespace

Status HeadDirectory::Create(const std::string& path, const std::string& name, UnixTime now) {
  if (name.empty() || name.size() > wire::kDeviceNameBytesMax || !wire::IsPlainText(name)) {
    return {Code::kInvalidArgument, "the name of a cluster is 1 to 64 bytes of plain text"};
  }
  SHOAL_RETURN_IF_ERROR(MakePrivateDirectory(path));
  SHOAL_ASSIGN_OR_RETURN(const FileLock lock,
                         FileLock::Take(path + "/update.lock", kUpdatePatience));
  if (FileExists(path + kAuthorityKey)) {
    return {Code::kInvalidArgument, path + " already holds a cluster; name another with --dir"};
  }
  if (FileExists(path + "/node.json")) {
    return {Code::kInvalidArgument,
            path + " makes this device a member of a cluster; name another with --dir"};
  }
  SHOAL_ASSIGN_OR_RETURN(const Authority authority, MakeAuthority(name));
  SHOAL_ASSIGN_OR_RETURN(const std::string key, MakePrivateKey());
  SHOAL_ASSIGN_OR_RETURN(const std::string public_key, PublicKeyOf(key));
  SHOAL_ASSIGN_OR_RETURN(const NodeCertificate certificate,
                         IssueCertificate(authority, kHeadNode, public_key));
  std::array<std::byte, kAdminKeyBytes> admin_key{};
  SHOAL_RETURN_IF_ERROR(DrawRandom(admin_key));
  NodeList nodes;
  nodes.nodes.push_back({.id = kHeadNode,
                         .name = name,
                         .labels = {},
                         .serial = certificate.serial,
                         .issued_at = now,
                         .revoked = false});
  SHOAL_RETURN_IF_ERROR(WriteNodes(path, nodes));
  SHOAL_RETURN_IF_ERROR(WriteTokens(path, {}));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + kAdminKey, Hex(admin_key) + "\n"));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + kCertificate, certificate.certificate_pem));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + kKey, key));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + kAuthorityCertificate, authority.certificate_pem));
  // Last: with it there is a cluster, and before it `init` may be tried again.
  return WriteClusterFile(path + kAuthorityKey, authority.key_pem);
}

HeadDirectory::HeadDirectory(std::string path, Authority authority,
                             std::shared_ptr<const TlsIdentity> identity, wire::AuthorityHash hash,
                             std::string admin_key)
    : path_(std::move(path)),
      authority_(std::move(authority)),
      identity_(std::move(identity)),
      authority_hash_(hash),
      admin_key_(std::move(admin_key)) {}

Result<HeadDirectory> HeadDirectory::Open(const std::string& path) {
  Authority authority;
  if (!FileExists(path + kAuthorityKey)) {
    return Status(Code::kNotFound, "there is no cluster in " + path +
                                       "; make one with `shoal init`, or name its directory "
                                       "with --dir");
  }
  SHOAL_ASSIGN_OR_RETURN(authority.key_pem, ReadClusterFile(path + kAuthorityKey, kRestore));
  SHOAL_ASSIGN_OR_RETURN(authority.certificate_pem,
                         ReadClusterFile(path + kAuthorityCertificate, kRestore));
  SHOAL_ASSIGN_OR_RETURN(const std::string certificate,
                         ReadClusterFile(path + kCertificate, kRestore));
  SHOAL_ASSIGN_OR_RETURN(const std::string key, ReadClusterFile(path + kKey, kRestore));
  SHOAL_ASSIGN_OR_RETURN(std::string admin_key, ReadClusterFile(path + kAdminKey, kRestore));
  if (admin_key.ends_with('\n')) admin_key.pop_back();
  if (!IsSha256(admin_key)) {  // As many digits.
    return Damaged(path + kAdminKey, {Code::kCorruption, "not 64 hexadecimal digits"}, kRestore);
  }
  Result<wire::AuthorityHash> hash = HashOfAuthority(authority.certificate_pem);
  if (!hash.ok()) return Damaged(path + kAuthorityCertificate, hash.status(), kRestore);
  if (const Status halves = CheckAuthority(authority); !halves.ok()) {
    return Damaged(path + kAuthorityKey, halves, kRestore);
  }
  auto identity = TlsIdentity::Make(authority.certificate_pem, certificate, key);
  if (!identity.ok()) return Damaged(path + kCertificate, identity.status(), kRestore);
  if ((*identity)->node() != kHeadNode) {
    return Damaged(path + kCertificate, {Code::kCorruption, "it is not of node 1"}, kRestore);
  }
  HeadDirectory directory(path, std::move(authority), *std::move(identity), *hash,
                          std::move(admin_key));
  SHOAL_RETURN_IF_ERROR(ReadNodes(path).status());
  SHOAL_RETURN_IF_ERROR(ReadTokens(path).status());
  return directory;
}

Result<FileLock> HeadDirectory::LockForServing() const {
  Result<FileLock> lock = FileLock::Take(path_ + "/serve.lock", Duration(0));
  if (!lock.ok() && lock.status().code() == Code::kUnavailable) {
    return Status(Code::kUnavailable, "another `shoal serve` uses " + path_ +
                                          "; stop it, or name another directory with --dir");
  }
  return lock;
}

Result<FileLock> HeadDirectory::LockForUpdate() const {
  return FileLock::Take(path_ + "/update.lock", kUpdatePatience);
}

Result<wire::JoinToken> HeadDirectory::MakeToken(std::uint64_t uses, UnixTime seconds,
                                                 UnixTime now) {
  if (uses == 0 || uses > kTokenUsesMax || seconds <= 0) {
    return Status(Code::kInvalidArgument, "a join token is for 1 to " +
                                              std::to_string(kTokenUsesMax) +
                                              " devices and for more than 0 seconds");
  }
  wire::JoinToken token{.authority = authority_hash_, .secret = {}};
  SHOAL_RETURN_IF_ERROR(DrawRandom(token.secret));
  SHOAL_ASSIGN_OR_RETURN(const FileLock lock, LockForUpdate());
  SHOAL_ASSIGN_OR_RETURN(std::vector<TokenRecord> tokens, ReadTokens(path_));
  std::erase_if(tokens, [&](const TokenRecord& old) {
    return now >= old.expires_at && now - old.expires_at > kKeepSpentTokensFor;
  });
  if (tokens.size() >= kTokensMax) {
    return Status(Code::kResourceExhausted,
                  path_ + kTokens + " holds " + std::to_string(tokens.size()) +
                      " join tokens; make one for many devices with --uses, or delete the file");
  }
  tokens.push_back(
      {.secret_sha256 = HashOf(token.secret), .expires_at = now + seconds, .uses_left = uses});
  SHOAL_RETURN_IF_ERROR(WriteTokens(path_, tokens));
  return token;
}

Result<Admission> HeadDirectory::Admit(const wire::EnrolRequest& request, UnixTime now) {
  SHOAL_ASSIGN_OR_RETURN(const FileLock lock, LockForUpdate());
  SHOAL_ASSIGN_OR_RETURN(std::vector<TokenRecord> tokens, ReadTokens(path_));
  TokenRecord* token = FindToken(tokens, HashOf(request.secret));
  Admission admission{.verdict = Judge(token, now), .node = {}, .certificate_pem = {}};
  if (admission.verdict != wire::EnrolVerdict::kWelcome) return admission;

  SHOAL_ASSIGN_OR_RETURN(NodeList nodes, ReadNodes(path_));
  admission.node = NodeId{nodes.next_id};
  Result<NodeCertificate> certificate =
      IssueCertificate(authority_, admission.node, request.public_key_pem);
  if (!certificate.ok()) {  // No key: the invitation stands.
    return Admission{.verdict = wire::EnrolVerdict::kMalformed, .node = {}, .certificate_pem = {}};
  }
  ++nodes.next_id;
  nodes.nodes.push_back({.id = admission.node,
                         .name = request.device_name,
                         .labels = {},
                         .serial = certificate->serial,
                         .issued_at = now,
                         .revoked = false});
  // In this order: a crash between the two loses an invitation, and gives none away twice.
  --token->uses_left;
  SHOAL_RETURN_IF_ERROR(WriteTokens(path_, tokens));
  SHOAL_RETURN_IF_ERROR(WriteNodes(path_, nodes));
  admission.certificate_pem = std::move(certificate->certificate_pem);
  return admission;
}

Result<std::vector<MemberRecord>> HeadDirectory::Members() const {
  SHOAL_ASSIGN_OR_RETURN(NodeList list, ReadNodes(path_));
  return std::move(list.nodes);
}

Result<std::set<std::uint64_t>> HeadDirectory::RevokedSerials() const {
  SHOAL_ASSIGN_OR_RETURN(const NodeList list, ReadNodes(path_));
  std::set<std::uint64_t> serials;
  for (const MemberRecord& node : list.nodes) {
    if (node.revoked) serials.insert(node.serial);
  }
  return serials;
}

Status HeadDirectory::ChangeMember(NodeId node, const std::function<void(MemberRecord&)>& change) {
  SHOAL_ASSIGN_OR_RETURN(const FileLock lock, LockForUpdate());
  SHOAL_ASSIGN_OR_RETURN(NodeList list, ReadNodes(path_));
  const auto found = std::find_if(list.nodes.begin(), list.nodes.end(),
                                  [&](const MemberRecord& member) { return member.id == node; });
  if (found == list.nodes.end()) {
    return {Code::kNotFound, "node " + std::to_string(ToNumber(node)) +
                                 " is not a member; `shoal nodes ls` lists them"};
  }
  change(*found);
  return WriteNodes(path_, list);
}

Status HeadDirectory::Revoke(NodeId node) {
  if (node == kHeadNode) return {Code::kInvalidArgument, "the head cannot be evicted"};
  return ChangeMember(node, [](MemberRecord& member) { member.revoked = true; });
}

Status HeadDirectory::SetLabels(NodeId node, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    if (label.empty() || label.size() > wire::kDeviceNameBytesMax || !wire::IsPlainText(label)) {
      return {Code::kInvalidArgument, "a label is 1 to 64 bytes of plain text"};
    }
  }
  return ChangeMember(node, [&](MemberRecord& member) { member.labels = labels; });
}

Status HeadDirectory::SetQuarantine(NodeId node, const std::string& evidence) {
  return ChangeMember(node, [&](MemberRecord& member) { member.quarantine = evidence; });
}

Status HeadDirectory::SetRules(NodeId node, const WorkRules& rules) {
  SHOAL_RETURN_IF_ERROR(CheckWorkRules(rules));
  if (node == kHeadNode) return {Code::kInvalidArgument, "the head is no node that rests"};
  return ChangeMember(node, [&](MemberRecord& member) { member.rules = rules; });
}

}  // namespace shoal::os
