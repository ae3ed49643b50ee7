// Whatever a peer sends in a bulk frame: a piece of an item that encodes to the same bytes, or
// kCorruption.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/item.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  const shoal::Frame frame(given.begin(), given.end());
  const auto piece = shoal::wire::DecodeItemPiece(frame);
  if (piece.ok()) {
    SHOAL_CHECK(shoal::wire::EncodeItemPiece(*piece) == frame);
  } else {
    SHOAL_CHECK(piece.status().code() == shoal::Code::kCorruption);
  }
  return 0;
}
