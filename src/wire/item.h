// Items: how the files and the records of a training travel from the head to a worker that asked
// for them (TrainAsk), in bulk frames: whole, in pieces that fit into frames, in order. Pure
// functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/network.h"
#include "base/status.h"

namespace shoal::wire {

inline constexpr std::size_t kItemPieceBytesMax = std::size_t{192} << 10U;
// No image is larger, nor are a network and its mean image.
inline constexpr std::size_t kItemBytesMax = std::size_t{256} << 20U;

struct ItemPiece {
  enum class Kind : std::uint8_t {
    kRecord = 1,  // Of the data set, as LMDB has it.
    kJob = 2,     // A serialised TrainJob.
  };
  Kind kind = Kind::kRecord;
  std::uint64_t index = 0;   // Of a record.
  std::uint64_t offset = 0;  // Of `data` in the item …
  std::uint64_t total = 0;   // … of so many bytes.
  std::span<const std::byte> data = {};
};

// Whether a bulk frame is one: layers of language models travel there, too (piece.h).
bool IsItemPiece(const Frame& frame);

// REQUIRES: data.size() <= kItemPieceBytesMax.
Frame EncodeItemPiece(const ItemPiece& piece);
// `data` refers to the frame. kCorruption: the message names the field that no correct peer sends.
// On success the data lie within `total`, which is within kItemBytesMax.
Result<ItemPiece> DecodeItemPiece(const Frame& frame);

}  // namespace shoal::wire
