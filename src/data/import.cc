#include "data/import.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "data/datum.h"
#include "data/image.h"
#include "data/lmdb.h"
#include "data/mean.h"
#include "data/sample_order.h"

namespace shoal::data {
namespace {

constexpr std::size_t kKeyBytesMax = 511;  // LMDB's.
// Calls of `progress` in all, about: enough for a line that moves.
constexpr std::int64_t kProgressSteps = 200;

std::string MakeKey(std::int64_t number, const std::string& name) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%08lld", static_cast<long long>(number));  // NOLINT
  std::string key = name.empty() ? digits : std::string(digits) + "_" + name;
  // The number alone makes it unique.
  if (key.size() > kKeyBytesMax) key.resize(kKeyBytesMax);
  return key;
}

Image TakeImage(Record& record) {
  return {.channels = record.channels,
          .height = record.height,
          .width = record.width,
          .pixels = std::move(record.bytes)};
}

void PutBack(Image image, Record& record) {
  record.channels = image.channels;
  record.height = image.height;
  record.width = image.width;
  record.bytes = std::move(image.pixels);
}

DatumInfo InfoOf(const Record& record) {
  return {.channels = record.channels,
          .height = record.height,
          .width = record.width,
          .label = record.label};
}

Result<std::string> Compress(Record& record, const ImportOptions& options) {
  if (record.bytes.empty() || (record.channels != 1 && record.channels != 3)) {
    return Status(Code::kInvalidArgument, "only bytes in 1 or 3 channels can be compressed");
  }
  Image image = TakeImage(record);
  Result<std::string> bytes =
      options.store == Store::kPng ? EncodePng(image) : EncodeJpeg(image, options.quality);
  PutBack(std::move(image), record);
  return bytes;
}

Result<std::string> MakeDatum(const RecordSource& source, std::int64_t index,
                              const ImportOptions& options, Record& record) {
  if (options.store == Store::kRaw) return EncodeDatum(record);
  if (options.store == Store::kAsFile) {
    SHOAL_ASSIGN_OR_RETURN(std::optional<std::string> file, source.ReadEncoded(index));
    if (!file) return Status(Code::kInvalidArgument, "there are no image files to store");
    return EncodeDatum(InfoOf(record), *std::move(file));
  }
  SHOAL_ASSIGN_OR_RETURN(std::string image, Compress(record, options));
  return EncodeDatum(InfoOf(record), std::move(image));
}

Status ReadResized(const RecordSource& source, std::int64_t index, const ImportOptions& options,
                   Record& record) {
  SHOAL_RETURN_IF_ERROR(source.Read(index, record));
  if (options.new_height == 0) return {};
  if (record.bytes.empty()) {
    return Status(Code::kInvalidArgument, "images of floats cannot be resized");
  }
  PutBack(Resize(TakeImage(record), options.new_height, options.new_width), record);
  return {};
}

Status CheckOptions(const ImportOptions& options) {
  if ((options.new_height > 0) != (options.new_width > 0) || options.new_height < 0 ||
      options.new_width < 0 || options.new_height > kImagePixelsMax ||
      options.new_width > kImagePixelsMax ||
      options.new_height * options.new_width > kImagePixelsMax) {
    return Status(Code::kInvalidArgument, "no images of that size");
  }
  if (options.store == Store::kAsFile && options.new_height > 0) {
    return Status(Code::kInvalidArgument, "files that are stored untouched cannot be resized");
  }
  if (options.quality < 1 || options.quality > 100) {
    return Status(Code::kInvalidArgument, "the quality of a JPEG is 1 to 100");
  }
  return {};
}

}  // namespace

Result<ImportReport> Import(const RecordSource& source, const ImportOptions& options) {
  SHOAL_RETURN_IF_ERROR(CheckOptions(options));
  SHOAL_ASSIGN_OR_RETURN(LmdbWriter writer, LmdbWriter::Create(options.path));
  ImportReport report{.records = source.size()};
  const SampleOrder order(source.size(), options.shuffle, options.seed);
  const std::int64_t step = std::max<std::int64_t>(1, source.size() / kProgressSteps);
  MeanAccumulator mean;
  Record record;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const std::int64_t index = order.IndexAt({0, static_cast<std::uint64_t>(i)});
    SHOAL_RETURN_IF_ERROR(ReadResized(source, index, options, record));
    SHOAL_ASSIGN_OR_RETURN(std::string datum, MakeDatum(source, index, options, record));
    report.bytes += static_cast<std::int64_t>(datum.size());
    ++report.labels[record.label];
    mean.Add(record);
    SHOAL_RETURN_IF_ERROR(writer.Put(MakeKey(i, source.Name(index)), std::move(datum)));
    const std::int64_t done = i + 1;
    if (options.progress && (done % step == 0 || done == source.size())) {
      options.progress(done, source.size());
    }
  }
  SHOAL_RETURN_IF_ERROR(writer.Finish());
  report.channel_means = mean.ChannelMeans();
  report.mean = mean.Image();
  if (report.mean) {
    report.shape = ImageShape{report.mean->height, report.mean->width, report.mean->channels};
  }
  return report;
}

}  // namespace shoal::data
