// Whatever a peer sends in a bulk frame: a piece that encodes to the same bytes, or kCorruption.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/piece.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  const shoal::Frame frame(given.begin(), given.end());
  const auto piece = shoal::wire::DecodePiece(frame);
  if (piece.ok()) {
    SHOAL_CHECK(shoal::wire::EncodePiece(*piece) == frame);
  } else {
    SHOAL_CHECK(piece.status().code() == shoal::Code::kCorruption);
  }
  return 0;
}
