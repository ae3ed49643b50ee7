// A directory of a test's own, gone when the test is.
#pragma once

#include <filesystem>
#include <string>

#include "os/net/certificates.h"
#include "wire/enrol.h"
#include "wire/hello.h"

namespace shoal::os {

struct ScratchDirectory {
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "shoalXXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string path;
};

inline wire::EnrolRequest RequestWith(const wire::JoinSecret& secret, std::string name = "phone") {
  return {.secret = secret,
          .protocol = wire::kProtocolVersion,
          .is_64_bit = true,
          .public_key_pem = *PublicKeyOf(*MakePrivateKey()),
          .device_name = std::move(name),
          .program_version = "1"};
}

}  // namespace shoal::os
