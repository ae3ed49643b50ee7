// Protobuf's wire format, read and written in place. Weights go past protobuf's own classes: those
// would hold a second copy of every number (233 MiB of AlexNet, on a phone) and stop at 2 GiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::caffe::internal {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Walks over the fields of one message:
//   while (reader.Next()) { if (reader.Is(7, WireType::kBytes)) ... reader.bytes() ... }
//   SHOAL_RETURN_IF_ERROR(reader.status());
class WireReader {
 public:
  // `file` is a name for messages, `start` where `bytes` starts in it.
  WireReader(std::string_view file, std::string_view bytes, std::size_t start = 0)
      : file_(file), bytes_(bytes), start_(start) {}

  // Goes to the next field; false at the end of the message, and at the first broken byte.
  bool Next();
  const Status& status() const { return status_; }

  bool Is(std::uint64_t field, WireType type) const { return field_ == field && type_ == type; }
  std::uint64_t number() const { return number_; }   // Of every type but kBytes.
  std::string_view bytes() const { return value_; }  // Of kBytes.
  // A reader for the message in bytes().
  WireReader Nested() const;
  // Where the field's value starts in the file.
  std::size_t offset() const { return start_ + at_ - value_.size(); }

 private:
  bool ReadVarint(std::uint64_t& value);
  bool ReadFixed(std::size_t size);
  bool ReadBytes();
  bool Fail(const std::string& what);

  std::string_view file_;
  std::string_view bytes_;
  std::size_t start_;
  std::size_t at_ = 0;
  std::uint64_t field_ = 0;
  WireType type_ = WireType::kVarint;
  std::uint64_t number_ = 0;
  std::string_view value_;
  Status status_;
};

std::size_t VarintSize(std::uint64_t value);
void AppendVarint(std::uint64_t value, std::string& out);
void AppendTag(std::uint64_t field, WireType type, std::string& out);
// A varint field with its tag. Negative numbers take ten bytes, as protobuf wants them.
void AppendNumber(std::uint64_t field, std::int64_t value, std::string& out);
// The tag and size of a field of bytes or of a nested message; the bytes themselves follow.
void AppendHeader(std::uint64_t field, std::size_t size, std::string& out);
void AppendBytes(std::uint64_t field, std::string_view bytes, std::string& out);
// How many bytes AppendBytes takes for `size` of them.
std::size_t BytesFieldSize(std::uint64_t field, std::size_t size);

}  // namespace shoal::caffe::internal
