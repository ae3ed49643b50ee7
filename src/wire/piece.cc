#include "wire/piece.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

constexpr std::size_t kKindAt = 0;
constexpr std::size_t kChunkAt = 4;
constexpr std::size_t kOffsetAt = 8;
constexpr std::size_t kLayerAt = 12;
constexpr std::size_t kHeaderBytes = 44;
static_assert(kHeaderBytes + kPieceBytesMax <= kBulkFrameBytesMax);

Status Bad(std::string_view field) {
  return {Code::kCorruption, "piece of a layer: bad " + std::string(field)};
}

}  // namespace

Frame EncodePiece(const Piece& piece) {
  SHOAL_CHECK_LE(piece.data.size(), kPieceBytesMax);
  Frame frame(kHeaderBytes + piece.data.size());
  const std::span<std::byte> out(frame);
  StoreLittleEndian(static_cast<std::uint64_t>(piece.kind), out.subspan(kKindAt, 4));
  StoreLittleEndian(piece.chunk, out.subspan(kChunkAt, 4));
  StoreLittleEndian(piece.offset, out.subspan(kOffsetAt, 4));
  std::copy(piece.layer.begin(), piece.layer.end(), frame.begin() + kLayerAt);
  std::copy(piece.data.begin(), piece.data.end(), frame.begin() + kHeaderBytes);
  return frame;
}

Result<Piece> DecodePiece(const Frame& frame) {
  if (frame.size() < kHeaderBytes) return Bad("size");
  const std::span<const std::byte> in(frame);
  const std::uint64_t kind = LoadLittleEndian(in.subspan(kKindAt, 4));
  if (kind < 1 || kind > 3) return Bad("kind");
  Piece piece;
  piece.kind = static_cast<Piece::Kind>(kind);
  piece.chunk = static_cast<std::uint32_t>(LoadLittleEndian(in.subspan(kChunkAt, 4)));
  piece.offset = static_cast<std::uint32_t>(LoadLittleEndian(in.subspan(kOffsetAt, 4)));
  std::copy_n(in.begin() + kLayerAt, piece.layer.size(), piece.layer.begin());
  piece.data = in.subspan(kHeaderBytes);
  if (piece.kind == Piece::Kind::kData) {
    if (piece.data.empty() || piece.data.size() > kPieceBytesMax) return Bad("size");
    if (piece.offset > kChunkBytes || piece.data.size() > kChunkBytes - piece.offset) {
      return Bad("offset");
    }
  } else if (!piece.data.empty()) {
    return Bad("size");
  }
  return piece;
}

}  // namespace shoal::wire
