#include <string>

#include "llm/gguf_cursor_internal.h"
#include "wire/little_endian.h"

namespace shoal::llm::internal {

std::string AtByte(std::size_t offset) { return " at byte " + std::to_string(offset); }

Status GgufCursor::Ends(std::string_view what) const {
  return Status(Code::kCorruption, "truncated: the file has " + std::to_string(bytes_.size()) +
                                       " bytes and ends inside " + std::string(what) + AtByte(at_));
}

Result<std::uint64_t> GgufCursor::Number(std::size_t size, std::string_view what) {
  SHOAL_ASSIGN_OR_RETURN(const auto bytes, Bytes(size, what));
  return wire::LoadLittleEndian(bytes);
}

Result<std::span<const std::byte>> GgufCursor::Bytes(std::uint64_t size, std::string_view what) {
  if (size > left()) return Ends(what);
  const auto bytes = bytes_.subspan(at_, static_cast<std::size_t>(size));
  at_ += bytes.size();
  return bytes;
}

Result<std::string_view> GgufCursor::String(std::string_view what) {
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t size, Number(8, what));
  SHOAL_ASSIGN_OR_RETURN(const auto bytes, Bytes(size, what));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::uint64_t> GgufCursor::Count(std::uint64_t bytes_each, std::string_view what) {
  const std::size_t start = at_;
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t count, Number(8, what));
  if (count > left() / bytes_each) {
    return Status(Code::kCorruption, std::string(what) + AtByte(start) + " is " +
                                         std::to_string(count) + ", and only " +
                                         std::to_string(left()) + " bytes follow");
  }
  return count;
}

}  // namespace shoal::llm::internal
