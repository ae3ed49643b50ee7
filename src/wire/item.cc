#include "wire/item.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

// Pieces of layers begin with 1 to 3.
constexpr std::uint64_t kItem = 4;
constexpr std::size_t kItemAt = 0;
constexpr std::size_t kKindAt = 4;
constexpr std::size_t kIndexAt = 8;
constexpr std::size_t kOffsetAt = 16;
constexpr std::size_t kTotalAt = 24;
constexpr std::size_t kHeaderBytes = 32;
static_assert(kHeaderBytes + kItemPieceBytesMax <= kBulkFrameBytesMax);

Status Bad(std::string_view field) {
  return {Code::kCorruption, "piece of an item: bad " + std::string(field)};
}

}  // namespace

bool IsItemPiece(const Frame& frame) {
  return frame.size() >= kHeaderBytes &&
         LoadLittleEndian(std::span(frame).subspan(kItemAt, 4)) == kItem;
}

Frame EncodeItemPiece(const ItemPiece& piece) {
  SHOAL_CHECK_LE(piece.data.size(), kItemPieceBytesMax);
  Frame frame(kHeaderBytes + piece.data.size());
  const std::span<std::byte> out(frame);
  StoreLittleEndian(kItem, out.subspan(kItemAt, 4));
  StoreLittleEndian(static_cast<std::uint64_t>(piece.kind), out.subspan(kKindAt, 4));
  StoreLittleEndian(piece.index, out.subspan(kIndexAt, 8));
  StoreLittleEndian(piece.offset, out.subspan(kOffsetAt, 8));
  StoreLittleEndian(piece.total, out.subspan(kTotalAt, 8));
  std::copy(piece.data.begin(), piece.data.end(), frame.begin() + kHeaderBytes);
  return frame;
}

Result<ItemPiece> DecodeItemPiece(const Frame& frame) {
  if (frame.size() < kHeaderBytes) return Bad("size");
  const std::span<const std::byte> in(frame);
  if (LoadLittleEndian(in.subspan(kItemAt, 4)) != kItem) return Bad("mark");
  const std::uint64_t kind = LoadLittleEndian(in.subspan(kKindAt, 4));
  if (kind < 1 || kind > 2) return Bad("kind");
  ItemPiece piece;
  piece.kind = static_cast<ItemPiece::Kind>(kind);
  piece.index = LoadLittleEndian(in.subspan(kIndexAt, 8));
  piece.offset = LoadLittleEndian(in.subspan(kOffsetAt, 8));
  piece.total = LoadLittleEndian(in.subspan(kTotalAt, 8));
  piece.data = in.subspan(kHeaderBytes);
  if (piece.total == 0 || piece.total > kItemBytesMax) return Bad("total");
  if (piece.data.empty() || piece.data.size() > kItemPieceBytesMax) return Bad("size");
  if (piece.offset >= piece.total || piece.data.size() > piece.total - piece.offset) {
    return Bad("offset");
  }
  return piece;
}

}  // namespace shoal::wire
