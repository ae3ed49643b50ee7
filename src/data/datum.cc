#include "data/datum.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "data/image.h"
#include "data/planes.h"
#include "datum.pb.h"

namespace shoal::data {
namespace {

Status Parse(std::span<const std::byte> bytes, proto::Datum& datum) {
  if (static_cast<std::int64_t>(bytes.size()) > kDatumBytesMax) {
    return Status(Code::kResourceExhausted,
                  "a Datum of " + std::to_string(bytes.size()) + " bytes");
  }
  if (!datum.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(Code::kCorruption, "not a Datum");
  }
  return {};
}

std::string Sizes(const proto::Datum& datum) {
  return std::to_string(datum.channels()) + " x " + std::to_string(datum.height()) + " x " +
         std::to_string(datum.width());
}

Status CheckSizes(const proto::Datum& datum) {
  const std::int64_t c = datum.channels();
  const std::int64_t h = datum.height();
  const std::int64_t w = datum.width();
  if (c <= 0 || h <= 0 || w <= 0) {
    return Status(Code::kCorruption, "a Datum of " + Sizes(datum));
  }
  if (h > kDatumElementsMax / w || c > kDatumElementsMax / (h * w)) {
    return Status(Code::kResourceExhausted, "a Datum of " + Sizes(datum));
  }
  const auto elements = static_cast<std::size_t>(c * h * w);
  const std::size_t given = datum.float_data_size() > 0
                                ? static_cast<std::size_t>(datum.float_data_size())
                                : datum.data().size();
  if (given == elements) return {};
  return Status(Code::kCorruption,
                "a Datum of " + Sizes(datum) + " with " + std::to_string(given) + " values");
}

Status DecodeCompressed(const proto::Datum& datum, Colors colors, Record& out) {
  Image image;
  image.pixels.swap(out.bytes);  // Its memory.
  SHOAL_RETURN_IF_ERROR(DecodeImage(datum.data(), colors, image));
  out.channels = image.channels;
  out.height = image.height;
  out.width = image.width;
  out.bytes = std::move(image.pixels);
  out.floats.clear();
  return {};
}

void DecodePlain(const proto::Datum& datum, Record& out) {
  out.channels = datum.channels();
  out.height = datum.height();
  out.width = datum.width();
  const auto elements = static_cast<std::size_t>(out.elements());
  const std::int64_t pixels = out.height * out.width;
  if (datum.float_data_size() > 0) {
    out.bytes.clear();
    out.floats.resize(elements);
    Interleave(datum.float_data().data(), pixels, out.channels, out.floats.data());
  } else {
    out.floats.clear();
    out.bytes.resize(elements);
    Interleave(reinterpret_cast<const std::uint8_t*>(datum.data().data()), pixels, out.channels,
               out.bytes.data());
  }
}

}  // namespace

Status DecodeDatum(std::span<const std::byte> bytes, Colors colors, Record& out) {
  proto::Datum datum;
  SHOAL_RETURN_IF_ERROR(Parse(bytes, datum));
  out.label = datum.label();
  if (datum.encoded()) return DecodeCompressed(datum, colors, out);
  SHOAL_RETURN_IF_ERROR(CheckSizes(datum));
  DecodePlain(datum, out);
  return {};
}

Result<DatumInfo> InspectDatum(std::span<const std::byte> bytes) {
  proto::Datum datum;
  SHOAL_RETURN_IF_ERROR(Parse(bytes, datum));
  return DatumInfo{.channels = datum.channels(),
                   .height = datum.height(),
                   .width = datum.width(),
                   .label = datum.label(),
                   .encoded = datum.encoded(),
                   .floats = datum.float_data_size() > 0};
}

std::string EncodeDatum(const Record& record) {
  SHOAL_CHECK(record.elements() <= kDatumElementsMax);
  const auto elements = static_cast<std::size_t>(record.elements());
  const std::int64_t pixels = record.height * record.width;
  proto::Datum datum;
  datum.set_channels(static_cast<std::int32_t>(record.channels));
  datum.set_height(static_cast<std::int32_t>(record.height));
  datum.set_width(static_cast<std::int32_t>(record.width));
  datum.set_label(record.label);
  if (record.floats.empty()) {
    SHOAL_CHECK_EQ(record.bytes.size(), elements);
    std::string& data = *datum.mutable_data();
    data.resize(elements);
    Separate(record.bytes.data(), pixels, record.channels,
             reinterpret_cast<std::uint8_t*>(data.data()));
  } else {
    SHOAL_CHECK_EQ(record.floats.size(), elements);
    datum.mutable_float_data()->Resize(static_cast<int>(elements), 0);
    Separate(record.floats.data(), pixels, record.channels,
             datum.mutable_float_data()->mutable_data());
  }
  return datum.SerializeAsString();
}

std::string EncodeDatum(const DatumInfo& info, std::string image) {
  proto::Datum datum;
  datum.set_channels(static_cast<std::int32_t>(info.channels));
  datum.set_height(static_cast<std::int32_t>(info.height));
  datum.set_width(static_cast<std::int32_t>(info.width));
  datum.set_label(info.label);
  datum.set_data(std::move(image));
  datum.set_encoded(true);
  return datum.SerializeAsString();
}

Result<std::string> ImageOfDatum(std::span<const std::byte> bytes) {
  proto::Datum datum;
  SHOAL_RETURN_IF_ERROR(Parse(bytes, datum));
  if (!datum.encoded()) return Status(Code::kInvalidArgument, "the image is not compressed");
  return std::move(*datum.mutable_data());
}

}  // namespace shoal::data
