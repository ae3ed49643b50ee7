#include "caffe/wire_format_internal.h"

namespace shoal::caffe::internal {

bool WireReader::Next() {
  value_ = {};
  if (!status_.ok() || at_ >= bytes_.size()) return false;
  std::uint64_t tag = 0;
  if (!ReadVarint(tag)) return false;
  field_ = tag >> 3;
  type_ = static_cast<WireType>(tag & 7);
  if (field_ == 0) return Fail("field number 0");
  switch (type_) {
    case WireType::kVarint:
      return ReadVarint(number_);
    case WireType::kFixed64:
      return ReadFixed(8);
    case WireType::kFixed32:
      return ReadFixed(4);
    case WireType::kBytes:
      return ReadBytes();
  }
  return Fail("unknown kind of field");
}

WireReader WireReader::Nested() const { return WireReader(file_, value_, offset()); }

bool WireReader::ReadVarint(std::uint64_t& value) {
  constexpr unsigned kMostBits = 64;
  value = 0;
  for (unsigned shift = 0; shift < kMostBits; shift += 7) {
    if (at_ >= bytes_.size()) return Fail("the file ends inside a number");
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return true;
  }
  return Fail("a number has no end");
}

bool WireReader::ReadFixed(std::size_t size) {
  if (bytes_.size() - at_ < size) return Fail("the file ends inside a number");
  number_ = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[at_ + i]);
    number_ |= static_cast<std::uint64_t>(byte) << (8 * i);
  }
  at_ += size;
  return true;
}

bool WireReader::ReadBytes() {
  std::uint64_t size = 0;
  if (!ReadVarint(size)) return false;
  const std::size_t left = bytes_.size() - at_;
  if (size > left) {
    return Fail("a field of " + std::to_string(size) + " bytes starts where only " +
                std::to_string(left) + " are left; the file is cut short, or no such file");
  }
  value_ = bytes_.substr(at_, static_cast<std::size_t>(size));
  at_ += value_.size();
  return true;
}

bool WireReader::Fail(const std::string& what) {
  status_ = Status(Code::kCorruption, std::string(file_) + ": broken at byte " +
                                          std::to_string(start_ + at_) + ": " + what);
  return false;
}

std::size_t VarintSize(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void AppendTag(std::uint64_t field, WireType type, std::string& out) {
  AppendVarint(field << 3 | static_cast<std::uint64_t>(type), out);
}

void AppendNumber(std::uint64_t field, std::int64_t value, std::string& out) {
  AppendTag(field, WireType::kVarint, out);
  AppendVarint(static_cast<std::uint64_t>(value), out);
}

void AppendHeader(std::uint64_t field, std::size_t size, std::string& out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(size, out);
}

void AppendBytes(std::uint64_t field, std::string_view bytes, std::string& out) {
  AppendHeader(field, bytes.size(), out);
  out += bytes;
}

std::size_t BytesFieldSize(std::uint64_t field, std::size_t size) {
  return VarintSize(field << 3) + VarintSize(size) + size;
}

}  // namespace shoal::caffe::internal
