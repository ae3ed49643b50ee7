#include "pipeline/layer_store.h"

#include <algorithm>

#include "wire/piece.h"

namespace shoal::pipeline {

std::uint32_t ChunkCount(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + wire::kChunkBytes - 1) / wire::kChunkBytes);
}

std::size_t ChunkSize(std::uint64_t bytes, std::uint32_t chunk) {
  const std::uint64_t begin = std::uint64_t{chunk} * wire::kChunkBytes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(wire::kChunkBytes, bytes - begin));
}

Status CheckLayerFile(const wire::pb::LayerFile& layer) {
  const auto bad = [](const char* what) {
    return Status(Code::kCorruption, std::string("a layer's description: ") + what);
  };
  if (layer.sha256().size() != sizeof(wire::Sha256Bytes)) return bad("its name is no SHA-256");
  if (layer.bytes() == 0 || layer.bytes() > kLayerBytesMax) return bad("its size");
  if (layer.chunks().size() != sizeof(wire::Sha256Bytes) * ChunkCount(layer.bytes())) {
    return bad("the number of its chunks");
  }
  return {};
}

}  // namespace shoal::pipeline
