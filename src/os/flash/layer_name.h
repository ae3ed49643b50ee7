// How layers are named (wire/piece.h): by the SHA-256 of their chunks' SHA-256s. 32 bytes in
// messages, 64 hexadecimal digits in the names of files. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "wire/control.h"

namespace shoal::os {

// 32 bytes: of a chunk, or of the hashes of all chunks, which is the layer's name.
std::string HashOf(std::span<const std::byte> bytes);
std::string HashOf(std::string_view bytes);

std::string ToHex(std::string_view bytes);
// The 32 bytes that `hex` stands for. Nothing: they are not 64 lower-case hexadecimal digits.
std::optional<std::string> NameFromHex(std::string_view hex);

// The SHA-256 that a chunk must have. REQUIRES: the layer has that chunk.
std::string_view ChunkHash(const wire::pb::LayerFile& layer, std::uint32_t chunk);

// Whether somebody's description of a layer can be true, and its name is that of its chunks.
Status CheckLayerName(const wire::pb::LayerFile& layer);

}  // namespace shoal::os
