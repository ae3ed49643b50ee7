// TLS 1.3 between nodes, both sides with a certificate of the cluster's authority.
// Nothing older, no resumption and no early data: connections live for hours, and a
// resumed one would skip the proof of who is there.
#pragma once

#include <memory>
#include <string>

#include "base/node_id.h"
#include "base/status.h"

namespace shoal::os {

// What a node shows of itself and whom it believes. Immutable; thread-safe.
class TlsIdentity {
 public:
  // kInvalidArgument: a PEM is not what it should be, `key_pem` does not belong to
  // `certificate_pem`, or that was not signed by `authority_pem` or names no node.
  static Result<std::shared_ptr<const TlsIdentity>> Make(const std::string& authority_pem,
                                                         const std::string& certificate_pem,
                                                         const std::string& key_pem);
  ~TlsIdentity();
  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;

  // Whom the certificate names.
  NodeId node() const { return node_; }

 private:
  friend struct TlsInternals;  // tls_stream.cc
  struct Impl;
  TlsIdentity(NodeId node, std::unique_ptr<Impl> impl);

  NodeId node_;
  std::unique_ptr<Impl> impl_;  // Keeps OpenSSL out of this header.
};

}  // namespace shoal::os
