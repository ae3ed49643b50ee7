// Whatever a peer sends after its hello: the decoder ends in frames within their
// limits or in kCorruption, and cutting the bytes elsewhere changes nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/frame.h"

namespace shoal::wire {
namespace {

struct Outcome {
  std::vector<Kind> kinds;
  std::vector<Frame> frames;
  Code code = Code::kOk;
  bool operator==(const Outcome&) const = default;
};

Outcome Decode(std::span<const std::byte> bytes, std::size_t chunk, Role role) {
  FrameDecoder decoder(role);
  Outcome outcome;
  while (!bytes.empty()) {
    std::span<const std::byte> piece = bytes.first(std::min(chunk, bytes.size()));
    bytes = bytes.subspan(piece.size());
    for (;;) {
      auto next = decoder.Next(piece);
      if (!next.ok()) {
        outcome.code = next.status().code();
        SHOAL_CHECK(outcome.code == Code::kCorruption);
        return outcome;
      }
      if (!*next) break;
      SHOAL_CHECK((*next)->frame.size() <= FrameBytesMax((*next)->kind));
      SHOAL_CHECK(Belongs((*next)->kind, role));
      outcome.kinds.push_back((*next)->kind);
      outcome.frames.push_back(std::move((*next)->frame));
    }
    SHOAL_CHECK(piece.empty());
  }
  return outcome;
}

}  // namespace
}  // namespace shoal::wire

// The first byte chooses the connection and where the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::wire::Decode;
  using shoal::wire::Role;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const Role role = data[0] % 2 == 0 ? Role::kMain : Role::kBulk;
  SHOAL_CHECK(Decode(bytes, size, role) == Decode(bytes, 1 + data[0] / 2U, role));
  return 0;
}
