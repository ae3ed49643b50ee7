#include "os/cluster/node_directory.h"

#include <nlohmann/json.hpp>

#include "os/cluster/private_files_internal.h"
#include "os/net/tls.h"

namespace shoal::os {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kJoinAgain =
    "delete the directory and join again with a new token: `shoal join HOST:PORT TOKEN`";

Result<NodeFiles> ParseNode(const std::string& text) {
  const Status wrong(Code::kCorruption, "not what `shoal join` wrote");
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded() || !file.is_object()) return wrong;
  const auto node = file.find("node");
  const auto heads = file.find("heads");
  if (file.value("version", Json()) != kVersion || node == file.end() || heads == file.end() ||
      !node->is_number_unsigned() || !heads->is_array() || heads->empty()) {
    return wrong;
  }
  NodeFiles files;
  files.node = NodeId{node->get<std::uint64_t>()};
  for (const Json& head : *heads) {
    if (!head.is_string()) return wrong;
    files.heads.push_back(head.get<std::string>());
  }
  return files;
}

Status CheckIsNoHead(const std::string& path) {
  if (!FileExists(path + "/ca.key")) return {};
  return {Code::kInvalidArgument,
          path + " holds a cluster of its own; name another directory with --dir"};
}

}  // namespace

Status SaveNodeFiles(const std::string& path, const NodeFiles& files) {
  SHOAL_RETURN_IF_ERROR(MakePrivateDirectory(path));
  SHOAL_RETURN_IF_ERROR(CheckIsNoHead(path));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + "/ca.crt", files.authority_pem));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + "/node.crt", files.certificate_pem));
  SHOAL_RETURN_IF_ERROR(WriteClusterFile(path + "/node.key", files.key_pem));
  const Json node = {{"version", kVersion}, {"node", ToNumber(files.node)}, {"heads", files.heads}};
  // Last: with it this device is a member.
  return WriteClusterFile(path + "/node.json", node.dump() + "\n");
}

Result<NodeFiles> LoadNodeFiles(const std::string& path) {
  SHOAL_RETURN_IF_ERROR(CheckIsNoHead(path));
  if (!FileExists(path + "/node.json")) {
    return Status(Code::kNotFound, "this device has not joined a cluster (no node.json in " + path +
                                       "); join with `shoal join HOST:PORT TOKEN`");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadClusterFile(path + "/node.json", kJoinAgain));
  Result<NodeFiles> parsed = ParseNode(text);
  if (!parsed.ok()) return Damaged(path + "/node.json", parsed.status(), kJoinAgain);
  NodeFiles files = *std::move(parsed);
  SHOAL_ASSIGN_OR_RETURN(files.authority_pem, ReadClusterFile(path + "/ca.crt", kJoinAgain));
  SHOAL_ASSIGN_OR_RETURN(files.certificate_pem, ReadClusterFile(path + "/node.crt", kJoinAgain));
  SHOAL_ASSIGN_OR_RETURN(files.key_pem, ReadClusterFile(path + "/node.key", kJoinAgain));
  const auto identity =
      TlsIdentity::Make(files.authority_pem, files.certificate_pem, files.key_pem);
  if (!identity.ok()) return Damaged(path + "/node.crt", identity.status(), kJoinAgain);
  if ((*identity)->node() != files.node) {
    return Damaged(path + "/node.json",
                   {Code::kCorruption, "its id is not the one of the certificate"}, kJoinAgain);
  }
  return files;
}

Result<FileLock> LockNodeDirectory(const std::string& path) {
  SHOAL_RETURN_IF_ERROR(MakePrivateDirectory(path));
  Result<FileLock> lock = FileLock::Take(path + "/join.lock", Duration(0));
  if (!lock.ok() && lock.status().code() == Code::kUnavailable) {
    return Status(Code::kUnavailable, "another `shoal join` is at work with " + path +
                                          "; for a second node on this device, name another "
                                          "directory with --dir");
  }
  return lock;
}

}  // namespace shoal::os
