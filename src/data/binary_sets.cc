#include "data/binary_sets.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/check.h"
#include "data/planes.h"

namespace shoal::data {
namespace {

constexpr std::int64_t kCifarSide = 32;
constexpr std::int64_t kCifarPixels = kCifarSide * kCifarSide;

std::int64_t LabelBytes(CifarKind kind) { return kind == CifarKind::k10 ? 1 : 2; }
std::int64_t RecordBytes(CifarKind kind) { return LabelBytes(kind) + 3 * kCifarPixels; }

// idx: a magic number that says type and rank, then the sizes, all big-endian.
constexpr std::uint32_t kIdxImages = 0x00000803;
constexpr std::uint32_t kIdxLabels = 0x00000801;
constexpr std::int64_t kMnistSideMax = 4096;
constexpr std::int64_t kMnistRecordsMax = std::int64_t{1} << 28U;

std::uint32_t BigEndian(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8U | bytes[at + i];
  return word;
}

template <std::size_t kWords>
Result<std::array<std::uint32_t, kWords>> ReadIdxHeader(const InputFile& file,
                                                        std::uint32_t magic) {
  std::array<std::uint8_t, 4 * kWords> bytes{};
  // The magic number alone first, so that a short file of another kind is called that.
  SHOAL_RETURN_IF_ERROR(file.ReadAt(0, std::span(bytes).first(4)));
  const std::string_view kind = kWords == 2 ? "labels" : "images";
  if (BigEndian(bytes, 0) != magic) {
    return Status(Code::kCorruption,
                  "not an idx file of " + std::string(kind) + ": " + file.path());
  }
  SHOAL_RETURN_IF_ERROR(file.ReadAt(0, bytes));
  std::array<std::uint32_t, kWords> words{};
  for (std::size_t i = 0; i < kWords; ++i) words[i] = BigEndian(bytes, 4 * i);
  return words;
}

Status WrongSize(const InputFile& file) {
  return Status(Code::kCorruption, "not of the size that its header says: " + file.path());
}

}  // namespace

Result<CifarSource> CifarSource::Open(CifarKind kind, const std::vector<std::string>& paths,
                                      CifarOrder order) {
  CifarSource source(kind, order);
  const std::int64_t record_bytes = RecordBytes(kind);
  for (const std::string& path : paths) {
    SHOAL_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
    if (file.size() == 0 || file.size() % record_bytes != 0) {
      return Status(Code::kCorruption, "not a whole number of CIFAR records (" +
                                           std::to_string(record_bytes) + " bytes each): " + path);
    }
    source.size_ += file.size() / record_bytes;
    source.ends_.push_back(source.size_);
    source.files_.push_back(std::move(file));
  }
  if (source.size_ == 0) return Status(Code::kInvalidArgument, "no CIFAR files");
  return source;
}

Status CifarSource::Read(std::int64_t index, Record& out) const {
  SHOAL_CHECK(index >= 0 && index < size_);
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
  const auto file = static_cast<std::size_t>(end - ends_.begin());
  const std::int64_t first = file == 0 ? 0 : ends_[file - 1];
  std::array<std::uint8_t, 2 + 3 * kCifarPixels> buffer{};
  const std::int64_t record_bytes = RecordBytes(kind_);
  SHOAL_RETURN_IF_ERROR(
      files_[file].ReadAt((index - first) * record_bytes,
                          std::span(buffer).first(static_cast<std::size_t>(record_bytes))));
  std::uint8_t* planes = buffer.data() + LabelBytes(kind_);
  if (order_ == CifarOrder::kBlueFirst) {
    std::swap_ranges(planes, planes + kCifarPixels, planes + 2 * kCifarPixels);
  }
  out.channels = 3;
  out.height = kCifarSide;
  out.width = kCifarSide;
  out.label = planes[-1];
  out.floats.clear();
  out.bytes.resize(3 * kCifarPixels);
  Interleave(planes, kCifarPixels, 3, out.bytes.data());
  return {};
}

Result<MnistSource> MnistSource::Open(const std::string& images, const std::string& labels) {
  SHOAL_ASSIGN_OR_RETURN(InputFile image_file, InputFile::Open(images));
  SHOAL_ASSIGN_OR_RETURN(const auto header, ReadIdxHeader<4>(image_file, kIdxImages));
  SHOAL_ASSIGN_OR_RETURN(const InputFile label_file, InputFile::Open(labels));
  SHOAL_ASSIGN_OR_RETURN(const auto label_header, ReadIdxHeader<2>(label_file, kIdxLabels));
  const std::int64_t count = header[1];
  const std::int64_t height = header[2];
  const std::int64_t width = header[3];
  if (count < 1 || count > kMnistRecordsMax || height < 1 || height > kMnistSideMax || width < 1 ||
      width > kMnistSideMax || image_file.size() != 16 + count * height * width) {
    return WrongSize(image_file);
  }
  if (label_header[1] != header[1] || label_file.size() != 8 + count) {
    return WrongSize(label_file);
  }
  MnistSource source(std::move(image_file), height, width);
  source.labels_.resize(static_cast<std::size_t>(count));
  SHOAL_RETURN_IF_ERROR(label_file.ReadAt(8, source.labels_));
  return source;
}

Status MnistSource::Read(std::int64_t index, Record& out) const {
  SHOAL_CHECK(index >= 0 && index < size());
  out.channels = 1;
  out.height = height_;
  out.width = width_;
  out.label = labels_[static_cast<std::size_t>(index)];
  out.floats.clear();
  out.bytes.resize(static_cast<std::size_t>(height_ * width_));
  return images_.ReadAt(16 + index * height_ * width_, out.bytes);
}

}  // namespace shoal::data
