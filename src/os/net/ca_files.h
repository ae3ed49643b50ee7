// Whom the web trusts: the certificates of authorities that this machine came with. Not the
// cluster's own authority, which is in certificates.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal::os {

// Thread-compatible. Shared by all connections.
class CaCertificates {
 public:
  // From a PEM file with any number of certificates, or a folder of such files, as Android
  // has it; files in it that are something else are passed over. kNotFound: no such path,
  // or no certificate there.
  static Result<std::shared_ptr<const CaCertificates>> Load(const std::string& path);
  // From the first of `paths` that has any. kNotFound: none has; the message names them.
  static Result<std::shared_ptr<const CaCertificates>> LoadFirst(
      const std::vector<std::string>& paths);

  ~CaCertificates();
  CaCertificates(const CaCertificates&) = delete;
  CaCertificates& operator=(const CaCertificates&) = delete;

 private:
  friend struct CaInternals;  // ca_files_internal.h: for TLS, inside os/.
  struct Impl;
  explicit CaCertificates(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;  // Keeps OpenSSL out of this header.
};

// Where to look: `ssl_cert_file` (the environment's), Termux's file under `prefix`, those of
// Linux distributions, Android's folders. Empty arguments are left out.
std::vector<std::string> CaPaths(const std::string& ssl_cert_file, const std::string& prefix);

}  // namespace shoal::os
