// EarlyFrames: messages of collectives that have not begun here, until they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/network.h"

namespace shoal::collective {

class EarlyFrames {
 public:
  // Of one rank; what keeping a frame costs is counted. A correct one sends an eighth of it
  // (Outbox::kEagerBytes).
  static constexpr std::size_t kBytesMax = std::size_t{64} << 20U;

  struct Early {
    std::size_t rank;
    Frame frame;
  };

  // False: more than a correct rank sends.
  bool Add(std::size_t rank, std::uint32_t number, Frame frame) {
    const auto bytes = bytes_.find(rank);
    const std::size_t before = bytes == bytes_.end() ? 0 : bytes->second;
    if (Cost(frame) > kBytesMax - before) return false;
    bytes_[rank] = before + Cost(frame);
    frames_[number].push_back({rank, std::move(frame)});
    return true;
  }

  // Of one collective, in the order in which they came.
  std::vector<Early> Take(std::uint32_t number) {
    const auto node = frames_.extract(number);
    if (node.empty()) return {};
    for (const Early& early : node.mapped()) {
      const auto bytes = bytes_.find(early.rank);
      bytes->second -= Cost(early.frame);
      if (bytes->second == 0) bytes_.erase(bytes);
    }
    return std::move(node.mapped());
  }

  // Bytes by rank, of those that have some.
  const std::map<std::size_t, std::size_t>& bytes() const { return bytes_; }

 private:
  static std::size_t Cost(const Frame& frame) { return frame.size() + 128; }

  std::map<std::uint32_t, std::vector<Early>> frames_;
  std::map<std::size_t, std::size_t> bytes_;
};

}  // namespace shoal::collective
