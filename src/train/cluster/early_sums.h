// EarlySums: frames of collectives whose epoch this node has not been told of yet: its peers were,
// and have begun. Bounded; what does not fit is lost, and the collective is begun anew in another
// epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/network.h"

namespace shoal::train {

class EarlySums {
 public:
  void Add(std::uint64_t epoch, NodeId from, Frame frame) {
    const std::size_t bytes = Cost(frame);
    std::size_t& of_peer = bytes_[from];
    if (bytes_of_all_ + bytes > kBytesMax || of_peer + bytes > kBytesPeerMax) return;
    of_peer += bytes;
    bytes_of_all_ += bytes;
    frames_[epoch].emplace_back(from, std::move(frame));
  }

  // Those of `epoch`. Those of earlier ones are nobody's.
  std::vector<std::pair<NodeId, Frame>> Take(std::uint64_t epoch) {
    std::vector<std::pair<NodeId, Frame>> taken;
    while (!frames_.empty() && frames_.begin()->first <= epoch) {
      for (const auto& [from, frame] : frames_.begin()->second) {
        bytes_[from] -= Cost(frame);
        bytes_of_all_ -= Cost(frame);
      }
      if (frames_.begin()->first == epoch) taken = std::move(frames_.begin()->second);
      frames_.erase(frames_.begin());
    }
    return taken;
  }

 private:
  static constexpr std::size_t kBytesMax = std::size_t{64} << 20U;
  // Of one peer: whoever makes up epochs leaves room for the others.
  static constexpr std::size_t kBytesPeerMax = kBytesMax / 4;
  // An empty one takes memory, too.
  static std::size_t Cost(const Frame& frame) { return frame.size() + 128; }

  std::map<std::uint64_t, std::vector<std::pair<NodeId, Frame>>> frames_;
  std::map<NodeId, std::size_t> bytes_;
  std::size_t bytes_of_all_ = 0;
};

}  // namespace shoal::train
