#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "caffe/blob_format_internal.h"

namespace shoal::caffe {
namespace internal {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

constexpr std::size_t kMaxAxes = 32;  // As in Caffe.

// Field numbers of BlobProto.
constexpr std::uint64_t kLegacyDims = 1;  // num, channels, height and width: 1 to 4.
constexpr std::uint64_t kData = 5;
constexpr std::uint64_t kShape = 7;
constexpr std::uint64_t kDoubleData = 8;
constexpr std::uint64_t kRawData = 12;  // NVIDIA's fork.
constexpr std::uint64_t kDim = 1;       // Of BlobShape.

// Collects one BlobProto.
class BlobBuilder {
 public:
  BlobBuilder(std::string_view file, const std::string& what) : file_(file), what_(what) {}

  Status Take(const WireReader& reader) {
    if (reader.Is(kShape, WireType::kBytes)) return TakeShape(reader.Nested());
    if (reader.Is(kData, WireType::kBytes)) return TakeNumbers<float>(reader.bytes());
    if (reader.Is(kDoubleData, WireType::kBytes)) return TakeNumbers<double>(reader.bytes());
    if (reader.Is(kRawData, WireType::kBytes)) {
      return Error("is stored as raw_data, as NVIDIA's Caffe does; convert it with " +
                   std::string("store_blobs_in_old_format: true"));
    }
    if (reader.Is(kData, WireType::kFixed32)) {
      blob_.values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(reader.number())));
    }
    if (reader.Is(kDoubleData, WireType::kFixed64)) {
      blob_.values.push_back(static_cast<float>(std::bit_cast<double>(reader.number())));
    }
    for (std::uint64_t i = 0; i < legacy_.size(); ++i) {
      if (!reader.Is(kLegacyDims + i, WireType::kVarint)) continue;
      legacy_[i] = static_cast<std::int64_t>(reader.number());
      has_legacy_ = true;
    }
    return Status();
  }

  Result<Blob> Finish() && {
    if (has_legacy_) blob_.shape.assign(legacy_.begin(), legacy_.end());
    std::uint64_t count = 1;
    for (const std::int64_t dim : blob_.shape) {
      if (dim < 0) return Error("has a negative dimension: " + ShapeText(blob_.shape));
      const auto size = static_cast<std::uint64_t>(dim);
      if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) {
        return Error("has an impossible shape: " + ShapeText(blob_.shape));
      }
      count *= size;
    }
    if (count != blob_.values.size()) {
      return Error("has the shape " + ShapeText(blob_.shape) + " but " +
                   std::to_string(blob_.values.size()) + " values");
    }
    return std::move(blob_);
  }

 private:
  Status TakeShape(WireReader reader) {
    while (reader.Next()) {
      if (reader.Is(kDim, WireType::kVarint)) {
        blob_.shape.push_back(static_cast<std::int64_t>(reader.number()));
      } else if (reader.Is(kDim, WireType::kBytes)) {
        SHOAL_RETURN_IF_ERROR(TakePackedDims(reader.bytes()));
      }
      if (blob_.shape.size() > kMaxAxes) return Error("has too many dimensions");
    }
    return reader.status();
  }

  Status TakePackedDims(std::string_view bytes) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (shift >= 64) return Error("has a broken dimension");
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      blob_.shape.push_back(static_cast<std::int64_t>(value));
      if (blob_.shape.size() > kMaxAxes) return Error("has too many dimensions");
      value = 0;
      shift = 0;
    }
    return shift == 0 ? Status() : Error("has a broken dimension");
  }

  template <class Number>
  Status TakeNumbers(std::string_view bytes) {
    if (bytes.size() % sizeof(Number) != 0) return Error("has a broken list of values");
    const std::size_t count = bytes.size() / sizeof(Number);
    const std::size_t before = blob_.values.size();
    blob_.values.resize(before + count);
    if constexpr (std::is_same_v<Number, float>) {
      if (count > 0) std::memcpy(&blob_.values[before], bytes.data(), bytes.size());
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        Number number;
        std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
        blob_.values[before + i] = static_cast<float>(number);
      }
    }
    return Status();
  }

  Status Error(const std::string& problem) const {
    return Status(Code::kCorruption, std::string(file_) + ": " + what_ + " " + problem);
  }

  std::string_view file_;
  const std::string& what_;
  Blob blob_;
  std::array<std::int64_t, 4> legacy_ = {0, 0, 0, 0};
  bool has_legacy_ = false;
};

std::size_t DimsSize(const Blob& blob) {
  std::size_t size = 0;
  for (const std::int64_t dim : blob.shape) size += VarintSize(static_cast<std::uint64_t>(dim));
  return size;
}

}  // namespace

Result<Blob> ReadBlob(std::string_view file, const std::string& what, WireReader reader) {
  BlobBuilder builder(file, what);
  while (reader.Next()) SHOAL_RETURN_IF_ERROR(builder.Take(reader));
  SHOAL_RETURN_IF_ERROR(reader.status());
  return std::move(builder).Finish();
}

std::size_t BlobSize(const Blob& blob) {
  return BytesFieldSize(kData, blob.values.size() * sizeof(float)) +
         BytesFieldSize(kShape, BytesFieldSize(kDim, DimsSize(blob)));
}

void AppendBlob(const Blob& blob, std::string& out) {
  const auto bytes = std::as_bytes(std::span(blob.values));
  AppendHeader(kData, bytes.size(), out);
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t dims = DimsSize(blob);
  AppendHeader(kShape, BytesFieldSize(kDim, dims), out);
  AppendHeader(kDim, dims, out);
  for (const std::int64_t dim : blob.shape) AppendVarint(static_cast<std::uint64_t>(dim), out);
}

Status CheckBinary(std::string_view file, std::string_view bytes, std::string_view expected) {
  const std::string name(file);
  if (bytes.empty()) return Status(Code::kCorruption, name + ": the file is empty");
  if (bytes.starts_with("\x89HDF")) {
    return Status(
        Code::kInvalidArgument,
        name + ": an HDF5 file; only binary files (snapshot_format: BINARYPROTO) are read");
  }
  constexpr std::string_view kTexts[] = {
      "name:", "layer", "version https://git-lfs", "<!DOCTYPE", "<html", "input:", "#"};
  for (const std::string_view text : kTexts) {
    if (!bytes.starts_with(text)) continue;
    return Status(Code::kInvalidArgument,
                  name + ": a text file; a binary " + std::string(expected) + " is expected here");
  }
  return Status();
}

}  // namespace internal

bool SameButForOnes(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto skip = [](const std::vector<std::int64_t>& shape) {
    return std::find_if(shape.begin(), shape.end(), [](std::int64_t dim) { return dim != 1; });
  };
  return std::equal(skip(a), a.end(), skip(b), b.end());
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

}  // namespace shoal::caffe
