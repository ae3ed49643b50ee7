#include "llm/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "llm/gguf_cursor_internal.h"

namespace shoal::llm {
namespace {

using internal::AtByte;
using internal::GgufCursor;

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kAlignmentMax = 1U << 20U;
constexpr std::size_t kAxesMax = 4;
// The least that a key with its value, and a tensor's record, take in a file.
constexpr std::uint64_t kKeyBytesMin = 8 + 4 + 1;
constexpr std::uint64_t kTensorBytesMin = 8 + 4 + 4 + 8;

Status Corrupt(std::string what) { return Status(Code::kCorruption, std::move(what)); }

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// A tensor as the file describes it: its bytes are found when the header's end is known.
struct TensorRecord {
  GgufTensor tensor;
  std::uint64_t offset = 0;  // From the start of the data.
  std::size_t byte_size = 0;
};

Result<std::uint32_t> ReadVersion(GgufCursor& cursor) {
  SHOAL_ASSIGN_OR_RETURN(const auto magic, cursor.Bytes(4, "the first four bytes"));
  const std::array<std::byte, 4> wanted = {std::byte{'G'}, std::byte{'G'}, std::byte{'U'},
                                           std::byte{'F'}};
  if (!std::equal(magic.begin(), magic.end(), wanted.begin())) {
    return Corrupt("not a GGUF file: it does not begin with \"GGUF\"");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t version, cursor.Number(4, "the version"));
  if (version != 0 && (version & 0xffffU) == 0) {
    return Status(Code::kInvalidArgument, "a big-endian GGUF file, made for another kind of CPU");
  }
  if (version != 2 && version != 3) {
    return Status(Code::kInvalidArgument, "GGUF version " + std::to_string(version) +
                                              "; we read 2 and 3" +
                                              (version == 1 ? ": convert the model again" : ""));
  }
  return static_cast<std::uint32_t>(version);
}

Result<std::uint64_t> ReadCount(GgufCursor& cursor, std::uint64_t bytes_each, std::uint64_t most,
                                std::string_view what) {
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t count, cursor.Count(bytes_each, what));
  if (count > most) {
    return Corrupt(std::string(what) + " is " + std::to_string(count) + "; the limit is " +
                   std::to_string(most));
  }
  return count;
}

Result<GgufType> ReadType(GgufCursor& cursor, std::string_view what) {
  const std::size_t start = cursor.offset();
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t id, cursor.Number(4, what));
  const auto type = GgufTypeFromId(id);
  if (!type) {
    return Corrupt(std::string(what) + AtByte(start) + " is " + std::to_string(id) +
                   "; there is no such type");
  }
  return *type;
}

Status CheckBools(std::span<const std::byte> values) {
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (std::all_of(values.begin(), values.end(), is_bool)) return {};
  return Corrupt("a bool is neither 0 nor 1");
}

Status ReadElements(GgufCursor& cursor, GgufValue& value) {
  const std::size_t size = FixedSize(value.type);
  if (value.type == GgufType::kString) {
    value.strings.reserve(value.count);
    for (std::uint64_t i = 0; i < value.count; ++i) {
      SHOAL_ASSIGN_OR_RETURN(const std::string_view text, cursor.String("a string"));
      value.strings.push_back(text);
    }
    return {};
  }
  SHOAL_ASSIGN_OR_RETURN(value.numbers, cursor.Bytes(value.count * size, "a value"));
  return value.type == GgufType::kBool ? CheckBools(value.numbers) : Status();
}

Result<GgufValue> ReadValue(GgufCursor& cursor) {
  GgufValue value;
  const std::size_t start = cursor.offset();
  SHOAL_ASSIGN_OR_RETURN(value.type, ReadType(cursor, "the value's type"));
  if (value.type == GgufType::kArray) {
    value.is_array = true;
    SHOAL_ASSIGN_OR_RETURN(value.type, ReadType(cursor, "the elements' type"));
    if (value.type == GgufType::kArray) return Corrupt("an array of arrays" + AtByte(start));
    // A string takes its length at least.
    const std::size_t least = value.type == GgufType::kString ? 8 : FixedSize(value.type);
    SHOAL_ASSIGN_OR_RETURN(value.count, cursor.Count(least, "the number of elements"));
  }
  SHOAL_RETURN_IF_ERROR(ReadElements(cursor, value));
  value.encoded = cursor.Since(start);
  return value;
}

Result<GgufEntry> ReadEntry(GgufCursor& cursor) {
  const std::size_t start = cursor.offset();
  GgufEntry entry;
  SHOAL_ASSIGN_OR_RETURN(entry.key, cursor.String("the name"));
  if (entry.key.empty() || entry.key.size() > GgufFile::kKeyBytesMax) {
    return Corrupt("a name of " + std::to_string(entry.key.size()) + " bytes" + AtByte(start));
  }
  auto value = ReadValue(cursor);
  if (!value.ok()) return std::move(value).status().Annotate(Quoted(entry.key));
  entry.value = *std::move(value);
  return entry;
}

Result<std::vector<GgufEntry>> ReadEntries(GgufCursor& cursor, std::uint64_t count) {
  std::vector<GgufEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto entry = ReadEntry(cursor);
    if (!entry.ok()) {
      return std::move(entry).status().Annotate("key " + std::to_string(i + 1) + " of " +
                                                std::to_string(count));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<Shape> ReadShape(GgufCursor& cursor) {
  const std::size_t start = cursor.offset();
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t axes, cursor.Number(4, "the number of axes"));
  if (axes > kAxesMax) {
    return Corrupt(std::to_string(axes) + " axes" + AtByte(start) + "; the most are " +
                   std::to_string(kAxesMax));
  }
  std::array<std::int64_t, kAxesMax> extents{};
  for (std::uint64_t i = axes; i > 0; --i) {  // The file has the innermost first.
    SHOAL_ASSIGN_OR_RETURN(const std::uint64_t extent, cursor.Number(8, "an extent"));
    extents[i - 1] = static_cast<std::int64_t>(extent);
  }
  auto shape = Shape::Make({extents.data(), axes});
  if (!shape.ok()) return Corrupt(std::string(shape.status().message()) + AtByte(start));
  return shape;
}

Status ReadTensorBody(GgufCursor& cursor, TensorRecord& record) {
  SHOAL_ASSIGN_OR_RETURN(record.tensor.shape, ReadShape(cursor));
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t id, cursor.Number(4, "the type"));
  const auto dtype = DTypeFromGgufId(id);
  if (!dtype) {
    return Status(Code::kInvalidArgument, "its type is " + DescribeTensorType(id) +
                                              AtByte(cursor.offset() - 4) +
                                              ", which we do not read");
  }
  record.tensor.dtype = *dtype;
  auto size = ByteSize(*dtype, record.tensor.shape);
  if (!size.ok()) return Corrupt(std::string(size.status().message()));
  record.byte_size = *size;
  SHOAL_ASSIGN_OR_RETURN(record.offset, cursor.Number(8, "the offset"));
  return {};
}

Result<TensorRecord> ReadTensor(GgufCursor& cursor) {
  const std::size_t start = cursor.offset();
  TensorRecord record;
  SHOAL_ASSIGN_OR_RETURN(record.tensor.name, cursor.String("the name"));
  const std::string_view name = record.tensor.name;
  if (name.empty() || name.size() > GgufFile::kNameBytesMax) {
    return Corrupt("a name of " + std::to_string(name.size()) + " bytes" + AtByte(start));
  }
  SHOAL_RETURN_IF_ERROR(ReadTensorBody(cursor, record).Annotate(Quoted(name)));
  return record;
}

Result<std::vector<TensorRecord>> ReadTensors(GgufCursor& cursor, std::uint64_t count) {
  std::vector<TensorRecord> records;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto record = ReadTensor(cursor);
    if (!record.ok()) {
      return std::move(record).status().Annotate("tensor " + std::to_string(i + 1) + " of " +
                                                 std::to_string(count));
    }
    records.push_back(*std::move(record));
  }
  return records;
}

Result<std::uint64_t> Alignment(const GgufMetadata& metadata) {
  const auto alignment = metadata.GetUnsignedOr("general.alignment", kDefaultAlignment);
  // Eight is the least that the format allows, and what every type of element needs.
  if (alignment.ok() && *alignment >= 8 && *alignment <= kAlignmentMax &&
      std::has_single_bit(*alignment)) {
    return *alignment;
  }
  return Corrupt("\"general.alignment\" is " +
                 (alignment.ok() ? std::to_string(*alignment) : "no such number") +
                 "; wanted a power of two from 8 to " + std::to_string(kAlignmentMax));
}

// Gives the tensor its bytes of `data`, which begins at byte `start` of the file.
Status Place(TensorRecord& record, std::span<const std::byte> data, std::size_t start,
             std::uint64_t alignment) {
  const std::string where = "offset " + std::to_string(record.offset);
  if (record.offset % alignment != 0) {
    return Corrupt(where + " is not a multiple of the alignment, " + std::to_string(alignment));
  }
  if (record.offset > data.size() || record.byte_size > data.size() - record.offset) {
    return Corrupt("truncated: " + std::to_string(record.byte_size) + " bytes at " + where +
                   " end beyond the file, whose data begins at byte " + std::to_string(start) +
                   " and has " + std::to_string(data.size()) + " bytes");
  }
  record.tensor.bytes = data.subspan(static_cast<std::size_t>(record.offset), record.byte_size);
  return {};
}

// No byte may belong to two tensors.
Status CheckOverlaps(std::vector<const TensorRecord*> records) {
  std::sort(records.begin(), records.end(), [](const TensorRecord* a, const TensorRecord* b) {
    return std::pair(a->offset, a->byte_size) < std::pair(b->offset, b->byte_size);
  });
  for (std::size_t i = 1; i < records.size(); ++i) {
    const TensorRecord& before = *records[i - 1];
    if (before.offset + before.byte_size > records[i]->offset) {
      return Corrupt("tensors " + Quoted(before.tensor.name) + " and " +
                     Quoted(records[i]->tensor.name) + " overlap at offset " +
                     std::to_string(records[i]->offset));
    }
  }
  return {};
}

Status PlaceAll(std::vector<TensorRecord>& records, std::span<const std::byte> bytes,
                std::size_t header_bytes, std::uint64_t alignment) {
  // A file without tensors may end with its header.
  const std::size_t start =
      std::min<std::size_t>(bytes.size(), (header_bytes + alignment - 1) / alignment * alignment);
  std::vector<const TensorRecord*> placed;
  placed.reserve(records.size());
  for (TensorRecord& record : records) {
    SHOAL_RETURN_IF_ERROR(Place(record, bytes.subspan(start), start, alignment)
                              .Annotate("tensor " + Quoted(record.tensor.name)));
    placed.push_back(&record);
  }
  return CheckOverlaps(std::move(placed));
}

struct Contents {
  std::uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<TensorRecord> tensors;
};

Result<Contents> ReadContents(std::string_view file, std::span<const std::byte> bytes) {
  Contents contents;
  GgufCursor cursor(bytes);
  SHOAL_ASSIGN_OR_RETURN(contents.version, ReadVersion(cursor));
  SHOAL_ASSIGN_OR_RETURN(
      const std::uint64_t tensors,
      ReadCount(cursor, kTensorBytesMin, GgufFile::kTensorsMax, "the number of tensors"));
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t keys,
                         ReadCount(cursor, kKeyBytesMin, GgufFile::kKeysMax, "the number of keys"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<GgufEntry> entries, ReadEntries(cursor, keys));
  SHOAL_ASSIGN_OR_RETURN(contents.metadata, GgufMetadata::Make(file, std::move(entries)));
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t alignment, Alignment(contents.metadata));
  SHOAL_ASSIGN_OR_RETURN(contents.tensors, ReadTensors(cursor, tensors));
  SHOAL_RETURN_IF_ERROR(PlaceAll(contents.tensors, bytes, cursor.offset(), alignment));
  return contents;
}

}  // namespace

Result<GgufFile> GgufFile::Parse(std::string_view file, std::span<const std::byte> bytes) {
  auto contents = ReadContents(file, bytes);
  if (!contents.ok()) return std::move(contents).status().Annotate(file);
  GgufFile parsed;
  parsed.version_ = contents->version;
  parsed.metadata_ = std::move(contents->metadata);
  std::vector<GgufTensor> tensors;
  tensors.reserve(contents->tensors.size());
  for (const TensorRecord& record : contents->tensors) tensors.push_back(record.tensor);
  auto named = GgufTensors::Make(std::move(tensors));
  if (!named.ok()) return std::move(named).status().Annotate(file);
  parsed.tensors_ = *std::move(named);
  return parsed;
}

}  // namespace shoal::llm
