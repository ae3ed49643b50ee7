// NodeFiles: what a member keeps after `shoal join`: ca.crt, node.crt, node.key, and
// node.json with its id and where the head is. For the owner only (0600).
//
// Calls block for as long as the disk does.
#pragma once

#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "os/cluster/file_lock.h"

namespace shoal::os {

struct NodeFiles {
  NodeId node{};
  std::string authority_pem;
  std::string certificate_pem;
  std::string key_pem;             // Secret; made on this device, never leaves it.
  std::vector<std::string> heads;  // "192.168.1.5:7400": where to dial, the best first.
};

// Makes the directory if there is none. kInvalidArgument: it holds a cluster of its own.
Status SaveNodeFiles(const std::string& path, const NodeFiles& files);

// kNotFound: this device has not joined. kCorruption: a file is not what it should be; the
// message names it. The certificate is checked against key, authority and id.
Result<NodeFiles> LoadNodeFiles(const std::string& path);

// For as long as this device is at work as that member: two processes with one identity
// would throw each other out of the cluster. Makes the directory if there is none.
// kUnavailable: another process holds it.
Result<FileLock> LockNodeDirectory(const std::string& path);

}  // namespace shoal::os
