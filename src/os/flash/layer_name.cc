#include "os/flash/layer_name.h"

#include "os/sha256.h"
#include "pipeline/layer_store.h"
#include "wire/piece.h"

namespace shoal::os {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kHashBytes = sizeof(wire::Sha256Bytes);

}  // namespace

std::string HashOf(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return *NameFromHex(hash.Finish());
}

std::string HashOf(std::string_view bytes) {
  return HashOf(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

std::optional<std::string> NameFromHex(std::string_view hex) {
  if (hex.size() != 2 * kHashBytes) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const std::size_t high = kDigits.find(hex[i]);
    const std::size_t low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    name += static_cast<char>(high << 4U | low);
  }
  return name;
}

std::string_view ChunkHash(const wire::pb::LayerFile& layer, std::uint32_t chunk) {
  return std::string_view(layer.chunks()).substr(std::size_t{chunk} * kHashBytes, kHashBytes);
}

Status CheckLayerName(const wire::pb::LayerFile& layer) {
  SHOAL_RETURN_IF_ERROR(pipeline::CheckLayerFile(layer));
  if (HashOf(layer.chunks()) != layer.sha256()) {
    return Status(Code::kCorruption,
                  "layer " + ToHex(layer.sha256()) + ": its name is not that of its chunks");
  }
  return {};
}

}  // namespace shoal::os
