// Pieces: how layers travel, in bulk frames. A node asks for a chunk of a layer, and gets it in
// pieces that fit into frames, in order, or a refusal. Pure functions; thread-safe.
//
// A layer's file is cut into chunks of kChunkBytes, each with a SHA-256 of its own; the layer is
// named by the SHA-256 of these, one after the other. So every chunk can be checked as it comes,
// from whomever, and asked for again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/network.h"
#include "base/status.h"

namespace shoal::wire {

using Sha256Bytes = std::array<std::byte, 32>;

inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kPieceBytesMax = std::size_t{192} << 10U;

struct Piece {
  enum class Kind : std::uint8_t {
    kGet = 1,     // I want this chunk.
    kData = 2,    // Bytes of it.
    kRefuse = 3,  // You do not get it from me.
  };
  Kind kind = Kind::kGet;
  Sha256Bytes layer{};
  std::uint32_t chunk = 0;
  std::uint32_t offset = 0;              // Of `data` in the chunk.
  std::span<const std::byte> data = {};  // Of kData only.
};

// REQUIRES: data.size() <= kPieceBytesMax.
Frame EncodePiece(const Piece& piece);
// `data` refers to the frame. kCorruption: the message names the field that no correct peer sends.
Result<Piece> DecodePiece(const Frame& frame);

}  // namespace shoal::wire
