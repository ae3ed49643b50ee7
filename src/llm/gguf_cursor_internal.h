// Walks over the bytes of a GGUF file; nothing it returns lies outside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace shoal::llm::internal {

// `what` names the thing that is read, for the message: "ends inside the key's length, byte 24".
class GgufCursor {
 public:
  explicit GgufCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t offset() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  // What was read since `start`. REQUIRES: start <= offset().
  std::span<const std::byte> Since(std::size_t start) const {
    return bytes_.subspan(start, at_ - start);
  }

  // An unsigned number of `size` bytes. REQUIRES: size <= 8.
  Result<std::uint64_t> Number(std::size_t size, std::string_view what);
  Result<std::span<const std::byte>> Bytes(std::uint64_t size, std::string_view what);
  // A length of eight bytes and as many bytes.
  Result<std::string_view> String(std::string_view what);
  // A number of things of which each takes at least `bytes_each`: no more than fit into the rest
  // of the file, so that a caller may make room for them.
  Result<std::uint64_t> Count(std::uint64_t bytes_each, std::string_view what);

 private:
  Status Ends(std::string_view what) const;

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

// " at byte 24".
std::string AtByte(std::size_t offset);

}  // namespace shoal::llm::internal
