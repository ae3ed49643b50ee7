#include "caffe/weights_file.h"

#include <utility>

#include "caffe/blob_format_internal.h"
#include "caffe/net_text_internal.h"
#include "caffe/wire_format_internal.h"

namespace shoal::caffe {
namespace {

using internal::WireReader;
using internal::WireType;

// Field numbers of NetParameter.
constexpr std::uint64_t kNetName = 1;
constexpr std::uint64_t kV1Layers = 2;
constexpr std::uint64_t kLayers = 100;

// Where the three kinds of layers keep what we want; 0: not at all.
struct LayerFields {
  std::uint64_t name;
  std::uint64_t type;
  std::uint64_t blobs;
  std::uint64_t nested;  // A V0 layer.
};
constexpr LayerFields kV0 = {.name = 1, .type = 2, .blobs = 50, .nested = 0};
constexpr LayerFields kV1 = {.name = 4, .type = 5, .blobs = 6, .nested = 1};
constexpr LayerFields kV2 = {.name = 1, .type = 2, .blobs = 7, .nested = 0};

// An empty blob takes four bytes in a file and eighty in memory: their number is limited.
constexpr std::size_t kMostBlobs = 64;  // Of a layer.
constexpr std::size_t kMostLayers = 1 << 14;

Status TooMany(std::string_view file, std::string_view what, std::size_t most) {
  return Status(Code::kCorruption, std::string(file) + ": more than " + std::to_string(most) + " " +
                                       std::string(what));
}

std::string Describe(const NamedBlobs& layer) {
  return "layer \"" + layer.layer + "\", blob " + std::to_string(layer.blobs.size());
}

// A name, for messages too, ends where a person would stop reading it.
std::string ReadName(std::string_view bytes) {
  constexpr std::size_t kLongest = 1024;
  return std::string(bytes.substr(0, kLongest));
}

Status ReadLayer(std::string_view file, WireReader reader, const LayerFields& fields,
                 NamedBlobs& out) {
  while (reader.Next()) {
    if (reader.Is(fields.name, WireType::kBytes)) out.layer = ReadName(reader.bytes());
    if (reader.Is(fields.type, WireType::kBytes)) out.type = ReadName(reader.bytes());
    if (reader.Is(fields.type, WireType::kVarint)) {
      out.type = internal::V1TypeName(static_cast<int>(reader.number()));
    }
    if (reader.Is(fields.blobs, WireType::kBytes)) {
      SHOAL_ASSIGN_OR_RETURN(Blob blob, internal::ReadBlob(file, Describe(out), reader.Nested()));
      out.blobs.push_back(std::move(blob));
      if (out.blobs.size() > kMostBlobs) return TooMany(file, "blobs in a layer", kMostBlobs);
    }
    if (fields.nested != 0 && reader.Is(fields.nested, WireType::kBytes)) {
      SHOAL_RETURN_IF_ERROR(ReadLayer(file, reader.Nested(), kV0, out));
    }
  }
  return reader.status();
}

std::size_t LayerSize(const NamedBlobs& layer) {
  std::size_t size = internal::BytesFieldSize(kV2.name, layer.layer.size()) +
                     internal::BytesFieldSize(kV2.type, layer.type.size());
  for (const Blob& blob : layer.blobs) {
    size += internal::BytesFieldSize(kV2.blobs, internal::BlobSize(blob));
  }
  return size;
}

}  // namespace

Result<WeightsFile> ReadWeights(std::string_view file, std::string_view bytes) {
  SHOAL_RETURN_IF_ERROR(internal::CheckBinary(file, bytes, ".caffemodel"));
  WeightsFile weights;
  bool has_layers = false;
  WireReader reader(file, bytes);
  while (reader.Next()) {
    if (reader.Is(kNetName, WireType::kBytes)) weights.net = ReadName(reader.bytes());
    const bool is_v1 = reader.Is(kV1Layers, WireType::kBytes);
    if (!is_v1 && !reader.Is(kLayers, WireType::kBytes)) continue;
    has_layers = true;
    NamedBlobs layer;
    SHOAL_RETURN_IF_ERROR(ReadLayer(file, reader.Nested(), is_v1 ? kV1 : kV2, layer));
    if (weights.layers.size() >= kMostLayers) return TooMany(file, "layers", kMostLayers);
    if (!layer.blobs.empty()) weights.layers.push_back(std::move(layer));
  }
  SHOAL_RETURN_IF_ERROR(reader.status());
  if (!has_layers) {
    return Status(Code::kCorruption, std::string(file) + ": has no layers; not a .caffemodel");
  }
  return weights;
}

std::string WriteWeights(const WeightsFile& weights) {
  std::size_t size = internal::BytesFieldSize(kNetName, weights.net.size());
  for (const NamedBlobs& layer : weights.layers) {
    size += internal::BytesFieldSize(kLayers, LayerSize(layer));
  }
  std::string out;
  out.reserve(size);
  internal::AppendBytes(kNetName, weights.net, out);
  for (const NamedBlobs& layer : weights.layers) {
    internal::AppendHeader(kLayers, LayerSize(layer), out);
    internal::AppendBytes(kV2.name, layer.layer, out);
    internal::AppendBytes(kV2.type, layer.type, out);
    for (const Blob& blob : layer.blobs) {
      internal::AppendHeader(kV2.blobs, internal::BlobSize(blob), out);
      internal::AppendBlob(blob, out);
    }
  }
  SHOAL_CHECK_EQ(out.size(), size);
  return out;
}

}  // namespace shoal::caffe
