// Sha256: the hash by which model files are known, of bytes that come in pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace shoal::os {

// Not thread-safe.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&& other) noexcept;
  Sha256& operator=(Sha256&& other) noexcept;
  ~Sha256();

  void Update(std::span<const std::byte> bytes);
  // The hash of all bytes so far, 64 lower-case hexadecimal digits. The object then
  // begins again with none.
  std::string Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;  // Keeps OpenSSL out of this header.
};

// True for 64 hexadecimal digits, in either case.
bool IsSha256(const std::string& text);

}  // namespace shoal::os
