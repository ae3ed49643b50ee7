// The parts of a layer file that are not weights.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tensor/aligned_buffer.h"

namespace shoal::llm::internal {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::array<std::byte, 4> kLayerMagic = {std::byte{'S'}, std::byte{'H'},
                                                         std::byte{'L'}, std::byte{'Y'}};
inline constexpr std::uint32_t kLayerVersion = 1;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kRecordBytes = 48;

enum RecordType : std::uint8_t { kFloats32 = 0, kFloats16 = 1, kPacked = 2 };

struct Record {
  std::uint8_t type = kFloats32;
  std::uint8_t form = 0;
  float unit = 1;
  std::uint64_t rows = 0;
  std::uint64_t k = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t order = 0;
};

// Where each field of a record is, for reading and writing alike.
template <class Field>
void ForFields(Record& record, const Field& field) {
  auto unit = std::bit_cast<std::uint32_t>(record.unit);
  field(0, 1, record.type);
  field(1, 1, record.form);
  field(4, 4, unit);
  record.unit = std::bit_cast<float>(unit);
  field(8, 8, record.rows);
  field(16, 8, record.k);
  field(24, 8, record.offset);
  field(32, 8, record.bytes);
  field(40, 8, record.order);
}

inline std::uint64_t Aligned(std::uint64_t offset) {
  return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

inline std::uint64_t DataBegin(std::size_t records) {
  return kHeaderBytes + records * kRecordBytes;
}

}  // namespace shoal::llm::internal
